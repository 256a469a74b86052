"""A format in words: for print, logs, the command and the page."""
