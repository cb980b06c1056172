"""The public names of polymargin, and where each one lives."""

from . import plots as plots
from .boundary import Boundary as Boundary
from .boundary import NetworkArchitecture as NetworkArchitecture
from .enumeration import critical_points as critical_points
from .errors import InputError as InputError
from .errors import PolymarginError as PolymarginError
from .expected import expected_real_critical_points as expected_real_critical_points
from .explorer import explore as explore
from .geometry import chambers as chambers
from .geometry import ed_degree as ed_degree
from .geometry import ed_discriminant as ed_discriminant
from .geometry import parameter_discriminant as parameter_discriminant
from .margins import Answer as Answer
from .margins import Certificate as Certificate
from .margins import Margin as Margin
from .margins import Margins as Margins
from .margins import Settings as Settings
from .margins import Verdict as Verdict
from .margins import Verdicts as Verdicts
from .margins import Verifier as Verifier
from .margins import attack as attack
from .margins import margin as margin
from .margins import verify as verify
from .networks import LightningAttention as LightningAttention
from .networks import Network as Network
from .networks import PolynomialNetwork as PolynomialNetwork
from .networks import ReLUNetwork as ReLUNetwork
from .networks import SplineNetwork as SplineNetwork
from .networks import from_arrays as from_arrays
from .networks import from_sklearn as from_sklearn
from .networks import from_torch as from_torch
from .networks import load as load
from .networks import pi_net as pi_net
from .networks import to_onnx as to_onnx
from .networks import to_torch as to_torch
from .regions import L1 as L1
from .regions import L2 as L2
from .regions import Linf as Linf
from .reports import report as report
from .standing import Standing as Standing
from .value_ranges import ranges as ranges

__version__: str
