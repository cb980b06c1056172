"""Networks as PyTorch modules."""

from __future__ import annotations

from typing import Any

from polymargin.arguments import checked
from polymargin.networks.network import Network
from polymargin.networks.readers.foreign import package


@checked(Network)
def to_torch(network: Network) -> Any:
    """Return a torch.nn.Sequential of Linear and polynomial layers in float64, with the network's numbers, in eval mode."""
    torch = package("torch", "torch")
    from polymargin.networks.readers.torch_layers import PolynomialActivation

    chain, modules = network.expect_chain(), []
    for position, layer in enumerate(chain.layers):
        outputs, inputs = layer.weights.shape
        linear = torch.nn.utils.skip_init(torch.nn.Linear, inputs, outputs, dtype=torch.float64)
        with torch.no_grad():
            linear.weight.copy_(torch.tensor(layer.weights))
            linear.bias.copy_(torch.tensor(layer.bias))
        modules.append(linear)
        if position < len(chain.activations):
            modules.append(PolynomialActivation(chain.activations[position]))
    return torch.nn.Sequential(*modules).eval()
