"""Explorers inside the algorithms of other libraries; each module needs the library that it is named after."""
