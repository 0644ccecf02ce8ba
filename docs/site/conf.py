"""Configuration of the documentation. `make docs` assembles the sources and builds the site from them."""

from __future__ import annotations

import os
import sys
from pathlib import Path

SITE = Path(__file__).parent
sys.path.insert(0, str(SITE))
# Autodoc needs plain functions; the notebooks, which are other processes, run compiled.
os.environ["NUMBA_DISABLE_JIT"] = "1"
import wanderlust._numba.jit  # noqa: E402, F401

del os.environ["NUMBA_DISABLE_JIT"]

# The kernels of the notebooks warn about the connection to their own computer.
_profile = SITE.parents[1] / "build" / "ipython" / "profile_default"
_profile.mkdir(parents=True, exist_ok=True)
(_profile / "ipython_kernel_config.py").write_text("c.IPKernelApp.log_level = 40\n", encoding="utf-8")
os.environ["IPYTHONDIR"] = str(_profile.parent)

from wanderlust.version import __version__  # noqa: E402

project = "wanderlust"
author = "The wanderlust developers"
project_copyright = "The wanderlust developers"
version = release = __version__

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "site_extension"]
exclude_patterns = ["_build"]
# Annotations are unqualified names, and a few classes in different packages have the same name.
suppress_warnings = ["ref.python"]

html_theme = "furo"
html_title = f"wanderlust {__version__}"
html_static_path = ["static"]
html_extra_path = [str(SITE.parents[1] / "build" / "docs-extra")]  # Recorded runs; see recordings.py.
html_css_files = ["site.css"]
html_js_files = ["zoom.js"]
html_math_renderer = "images"
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
pygments_style = "friendly"
pygments_dark_style = "github-dark"

myst_enable_extensions = ["attrs_inline", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False
nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 120
nb_merge_streams = True
# One line while code is compiled for the first time.
nb_output_stderr = "remove"

smartquotes = False
add_module_names = False
autodoc_member_order = "bysource"
autodoc_mock_imports = ["torch", "stable_baselines3", "sb3_contrib"]  # several GB, only to subclass them
autodoc_preserve_defaults = True
# Shown by their names, not as ndarray[tuple[Any, ...], dtype[float64]].
_ARRAYS = ("Floats", "Ints", "FloatArray", "BoolArray", "StateIndex", "Pixels", "Places", "Streams")
autodoc_type_aliases = {name: name for name in _ARRAYS}
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 90
viewcode_line_numbers = True
viewcode_follow_imported_members = False
# Otherwise every page's navigation copies the names of all documented objects, which takes a minute.
toc_object_entries = False
