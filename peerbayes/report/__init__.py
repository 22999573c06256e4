"""One self-contained HTML page: prediction beside measurement, with figures.

Records in, a page out. ``page`` orders what the records hold, ``graph``, ``curves`` and ``rows``
draw it with matplotlib, ``canvas`` turns drawings into SVG that takes the page's colours, light or
dark, and ``page.html`` is the template. The page needs no network and no scripts.
"""

from peerbayes.report.page import write_report

__all__ = ["write_report"]
