"""Agents: step by step, and a whole run in one compiled loop; settings, presets, files."""
