"""Functions ≥ 0 or = 0 on the region: each reads its multipliers and takes multiplier · constraint off the forms."""

from polymargin_checker.relaxation.constraints.argument import argument
from polymargin_checker.relaxation.constraints.ball import ball
from polymargin_checker.relaxation.constraints.box import box
from polymargin_checker.relaxation.constraints.cauchy_schwarz import cauchy_schwarz
from polymargin_checker.relaxation.constraints.definition import definition
from polymargin_checker.relaxation.constraints.ellipsoid import ellipsoid
from polymargin_checker.relaxation.constraints.minorant import minorant
from polymargin_checker.relaxation.constraints.pieces import pieces
from polymargin_checker.relaxation.constraints.range import ranges

CONSTRAINTS = {
    "ball": ball,
    "ellipsoid": ellipsoid,
    "box": box,
    "definition": definition,
    "range": ranges,
    "argument": argument,
    "cauchy_schwarz": cauchy_schwarz,
    "minorant": minorant,
    "pieces": pieces,
}
