"""Networks of products written by hand, as the checker reads them."""

from __future__ import annotations

from polymargin_checker.views import Form, Products, Stage

Row = dict[int, float]


def sparse(width: int, *rows: tuple[Row, float]) -> Form:
    """Weights by column and the bias of every row."""
    starts, columns, weights = [0], [], []
    for row, _ in rows:
        for column in sorted(row):
            columns.append(column)
            weights.append(row[column])
        starts.append(len(columns))
    return Form(width, starts, columns, weights, [bias for _, bias in rows])


def mixed_program() -> Products:
    """Two inputs; a product, Chebyshev polynomials, powers and a product again, each seeing what it likes of all before it.

    Values: 0, 1 inputs; 2, 3 products; 4 Chebyshev; 5, 6 powers; 7 product of a form and a number.
    """
    return Products(
        2,
        (
            Stage(
                "P",
                (sparse(2, ({0: 1.0, 1: -0.5}, 0.25), ({1: 2.0}, 0.0)), sparse(2, ({0: 0.5}, 1.0), ({}, -0.75))),
                (),
            ),
            Stage("C", (sparse(4, ({0: 0.25, 3: 0.5}, -0.125)),), (0.5, -0.25, 0.375, 0.125, -0.0625)),
            Stage("A", (sparse(5, ({2: 0.5, 4: 1.0}, 0.0), ({1: -0.25}, 0.5)),), (0.25, 1.0, -0.5, 0.125)),
            Stage("P", (sparse(7, ({0: 0.5, 3: 0.25, 5: -1.0, 6: 0.125}, 0.5)), sparse(7, ({}, 1.5))), ()),
        ),
        sparse(
            8,
            ({0: 0.5, 2: 1.0, 4: -0.25, 7: 0.5}, 0.375),
            ({1: 1.0, 3: -0.5, 5: 0.25, 6: 0.125}, -0.25),
            ({6: 2.0, 7: -1.0}, 0.0),
        ),
    )
