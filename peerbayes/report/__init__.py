"""One self-contained HTML page: a title of its own, the answer, its figure, the tables, the rest.

Records in, a page out. A function for each kind of record makes a `Section` (`figures.views`) of
it, ``page`` finds the function and writes, and ``page.html`` is the template. Figures are drawn
with matplotlib as small SVG that takes the page's colours, light or dark. The page needs no network
and no scripts.
"""

from peerbayes.report.page import write_report

__all__ = ["write_report"]
