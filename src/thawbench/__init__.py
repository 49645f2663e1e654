"""Thawbench: which part of a pretrained encoder should you thaw, for this task and this little data?"""

__version__ = "0.1.0"
