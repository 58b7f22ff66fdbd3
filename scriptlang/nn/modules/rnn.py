"""Recurrent layers and cells: RNN, LSTM, GRU."""

from __future__ import annotations

import math
from typing import Any, List, Optional, Tuple

from ...jit import _overload_method
from ...ops.calling import functions as torch
from ...tensors import Tensor
from .. import init
from ..parameter import Parameter
from ..utils.rnn import PackedSequence
from .module import Module
from .rnn_settings import GATES, check_settings

__all__ = ["GRU", "LSTM", "RNN", "GRUCell", "LSTMCell", "RNNBase", "RNNCell", "RNNCellBase"]


def apply_permutation(tensor: Tensor, permutation: Tensor, dim: int = 1) -> Tensor:
    return tensor.index_select(dim, permutation)


class RNNBase(Module):
    """The weights of all layers and directions: `weight_ih_l0`, `weight_hh_l0_reverse`, ..."""

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]
    __jit_unused_properties__ = ["all_weights"]
    mode: str
    input_size: int
    hidden_size: int
    num_layers: int
    bias: bool
    batch_first: bool
    dropout: float
    bidirectional: bool
    proj_size: int

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        check_settings(input_size, hidden_size, num_layers, bias, batch_first, dropout, proj_size)
        if mode not in GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        self._flat_weights_names: List[str] = []
        self._all_weights: List[List[str]] = []
        for layer in range(num_layers):
            for suffix in ("", "_reverse")[: self._directions()]:
                shapes = self._shapes(layer)
                names = [f"{name}_l{layer}{suffix}" for name in shapes]
                for name, shape in zip(names, shapes.values()):
                    setattr(self, name, Parameter(torch.empty(shape, device=device, dtype=dtype)))
                self._flat_weights_names.extend(names)
                self._all_weights.append(names)
        self._flat_weights = [getattr(self, name) for name in self._flat_weights_names]
        self.reset_parameters()

    def _directions(self) -> int:
        return 2 if self.bidirectional else 1

    def _output_size(self) -> int:
        return self.proj_size if self.proj_size > 0 else self.hidden_size

    def _shapes(self, layer: int) -> dict[str, tuple[int, ...]]:
        """The shapes of the parameters of one direction of a layer, by name."""
        gates = GATES[self.mode] * self.hidden_size
        out = self._output_size()
        shapes: dict[str, tuple[int, ...]] = {
            "weight_ih": (gates, self.input_size if layer == 0 else out * self._directions()),
            "weight_hh": (gates, out),
        }
        if self.bias:
            shapes.update(bias_ih=(gates,), bias_hh=(gates,))
        if self.proj_size > 0:
            shapes["weight_hr"] = (self.proj_size, self.hidden_size)
        return shapes

    def __setattr__(self, name: str, value: Any) -> None:
        if (
            name in self.__dict__.get("_flat_weights_names", ())
            and "_flat_weights" in self.__dict__
        ):
            self._flat_weights[self._flat_weights_names.index(name)] = value
        super().__setattr__(name, value)

    def flatten_parameters(self) -> None:
        """Has no effect: only on a GPU would weights be moved into one block of memory."""

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> List[List[Parameter]]:
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    def check_input(self, input: Tensor, batch_sizes: Optional[Tensor]) -> None:
        if input.dtype != self._flat_weights[0].dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype "
                f"({self._flat_weights[0].dtype}). Convert input: "
                f"input.to({self._flat_weights[0].dtype}), or convert model: "
                f"model.to({input.dtype})"
            )
        expected = 2 if batch_sizes is not None else 3
        if input.dim() != expected:
            raise RuntimeError(f"input must have {expected} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. Expected "
                f"{self.input_size}, got {input.size(-1)}"
            )

    def get_expected_hidden_size(
        self, input: Tensor, batch_sizes: Optional[Tensor]
    ) -> Tuple[int, int, int]:
        if batch_sizes is not None:
            batch = int(batch_sizes[0])
        else:
            batch = input.size(0) if self.batch_first else input.size(1)
        return self.num_layers * self._directions(), batch, self._output_size()

    def check_hidden_size(
        self,
        hx: Tensor,
        expected_hidden_size: Tuple[int, int, int],
        msg: str = "Expected hidden size {}, got {}",
    ) -> None:
        layers, batch, size = expected_hidden_size
        if list(hx.size()) != [layers, batch, size]:
            raise RuntimeError(msg.format(expected_hidden_size, list(hx.size())))

    def _zeros(self, input: Tensor, batch_sizes: Optional[Tensor], size: int) -> Tensor:
        """The initial state if none is given: zeros."""
        layers, batch, _ = self.get_expected_hidden_size(input, batch_sizes)
        return torch.zeros([layers, batch, size], dtype=input.dtype, device=input.device)

    def extra_repr(self) -> str:
        parts = [f"{self.input_size}, {self.hidden_size}"]
        for name, usual in (
            ("proj_size", 0),
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0),
            ("bidirectional", False),
        ):
            if getattr(self, name) != usual:
                parts.append(f"{name}={getattr(self, name)}")
        return ", ".join(parts)


class _OneState(RNNBase):
    """The common part of RNN and GRU: the state is one tensor, (layers * directions, N, H)."""

    def check_forward_args(
        self, input: Tensor, hidden: Tensor, batch_sizes: Optional[Tensor]
    ) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(hidden, self.get_expected_hidden_size(input, batch_sizes))

    def permute_hidden(self, hx: Tensor, permutation: Optional[Tensor]) -> Tensor:
        if permutation is None:
            return hx
        return apply_permutation(hx, permutation)

    def _run(
        self, input: Tensor, batch_sizes: Optional[Tensor], hx: Tensor
    ) -> Tuple[Tensor, Tensor]:
        """Run all layers over an input (T, N, H), (N, T, H), or packed."""
        self.check_forward_args(input, hx, batch_sizes)
        w, bias, layers, p = self._flat_weights, self.bias, self.num_layers, self.dropout
        training, both, first = self.training, self.bidirectional, self.batch_first
        if self.mode == "GRU":
            if batch_sizes is None:
                return torch.gru(input, hx, w, bias, layers, p, training, both, first)
            return torch.gru(input, batch_sizes, hx, w, bias, layers, p, training, both)
        if self.mode == "RNN_TANH":
            if batch_sizes is None:
                return torch.rnn_tanh(input, hx, w, bias, layers, p, training, both, first)
            return torch.rnn_tanh(input, batch_sizes, hx, w, bias, layers, p, training, both)
        if batch_sizes is None:
            return torch.rnn_relu(input, hx, w, bias, layers, p, training, both, first)
        return torch.rnn_relu(input, batch_sizes, hx, w, bias, layers, p, training, both)

    def _run_packed(
        self, input: PackedSequence, hx: Optional[Tensor]
    ) -> Tuple[PackedSequence, Tensor]:
        data, batch_sizes, order, back = input
        if hx is None:
            state = self._zeros(data, batch_sizes, self.hidden_size)
        else:
            state = self.permute_hidden(hx, order)
        output, hidden = self._run(data, batch_sizes, state)
        return PackedSequence(output, batch_sizes, order, back), self.permute_hidden(hidden, back)

    def _run_padded(self, input: Tensor, hx: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
        if input.dim() not in (2, 3):
            name = "GRU" if self.mode == "GRU" else "RNN"
            what = "instead" if self.mode == "GRU" else "tensor instead"
            raise ValueError(f"{name}: Expected input to be 2D or 3D, got {input.dim()}D {what}")
        is_batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if not is_batched:
            input = input.unsqueeze(batch_dim)
            if hx is not None:
                if hx.dim() != 2:
                    raise RuntimeError(
                        "For unbatched 2-D input, hx should also be 2-D but got "
                        f"{hx.dim()}-D tensor"
                    )
                hx = hx.unsqueeze(1)
        elif hx is not None and hx.dim() != 3:
            raise RuntimeError(
                f"For batched 3-D input, hx should also be 3-D but got {hx.dim()}-D tensor"
            )
        state = hx if hx is not None else self._zeros(input, None, self.hidden_size)
        output, hidden = self._run(input, None, state)
        if is_batched:
            return output, hidden
        return output.squeeze(batch_dim), hidden.squeeze(1)

    @_overload_method
    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        pass

    @_overload_method
    def forward(
        self, input: PackedSequence, hx: Optional[Tensor] = None
    ) -> Tuple[PackedSequence, Tensor]:
        pass

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            return self._run_packed(input, hx)
        else:
            return self._run_padded(input, hx)


class RNN(_OneState):
    """Elman's network: h' = tanh (or relu) of W_ih x + b_ih + W_hh h + b_hh.

    input: (T, N, H_in), (N, T, H_in) with batch_first, (T, H_in), or a PackedSequence.
    Returns (output (T, N, directions * H), last state (layers * directions, N, H)).
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if len(args) > 3:
            nonlinearity = args[3]
            args = args[:3] + args[4:]
        else:
            nonlinearity = kwargs.pop("nonlinearity", "tanh")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        super().__init__(f"RNN_{nonlinearity.upper()}", *args, **kwargs)
        self.nonlinearity = nonlinearity


class GRU(_OneState):
    """Gated recurrent units; the shapes are those of RNN."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)


class LSTM(RNNBase):
    """Long short-term memory. The state is a pair (h, c); proj_size: the projected size of h.

    The other shapes are those of RNN."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__("LSTM", *args, **kwargs)

    def get_expected_cell_size(
        self, input: Tensor, batch_sizes: Optional[Tensor]
    ) -> Tuple[int, int, int]:
        layers, batch, _ = self.get_expected_hidden_size(input, batch_sizes)
        return layers, batch, self.hidden_size

    def check_forward_args(
        self, input: Tensor, hidden: Tuple[Tensor, Tensor], batch_sizes: Optional[Tensor]
    ) -> None:
        self.check_input(input, batch_sizes)
        self.check_hidden_size(
            hidden[0],
            self.get_expected_hidden_size(input, batch_sizes),
            "Expected hidden[0] size {}, got {}",
        )
        self.check_hidden_size(
            hidden[1],
            self.get_expected_cell_size(input, batch_sizes),
            "Expected hidden[1] size {}, got {}",
        )

    def permute_hidden(
        self, hx: Tuple[Tensor, Tensor], permutation: Optional[Tensor]
    ) -> Tuple[Tensor, Tensor]:
        if permutation is None:
            return hx
        return apply_permutation(hx[0], permutation), apply_permutation(hx[1], permutation)

    def _start(self, input: Tensor, batch_sizes: Optional[Tensor]) -> Tuple[Tensor, Tensor]:
        return (
            self._zeros(input, batch_sizes, self._output_size()),
            self._zeros(input, batch_sizes, self.hidden_size),
        )

    def _run_packed(
        self, input: PackedSequence, hx: Optional[Tuple[Tensor, Tensor]]
    ) -> Tuple[PackedSequence, Tuple[Tensor, Tensor]]:
        data, batch_sizes, order, back = input
        if hx is None:
            state = self._start(data, batch_sizes)
        else:
            state = self.permute_hidden(hx, order)
        self.check_forward_args(data, state, batch_sizes)
        output, h, c = torch.lstm(
            data,
            batch_sizes,
            state,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
        )
        return (PackedSequence(output, batch_sizes, order, back), self.permute_hidden((h, c), back))

    def _run_padded(
        self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]]
    ) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        if input.dim() not in (2, 3):
            raise ValueError(f"LSTM: Expected input to be 2D or 3D, got {input.dim()}D instead")
        is_batched = input.dim() == 3
        batch_dim = 0 if self.batch_first else 1
        if not is_batched:
            input = input.unsqueeze(batch_dim)
        if hx is None:
            state = self._start(input, None)
        else:
            n = 3 if is_batched else 2
            if hx[0].dim() != n or hx[1].dim() != n:
                kind = "batched 3-D" if is_batched else "unbatched 2-D"
                raise RuntimeError(
                    f"For {kind} input, hx and cx should also be {n}-D but got "
                    f"({hx[0].dim()}-D, {hx[1].dim()}-D) tensors"
                )
            state = hx if is_batched else (hx[0].unsqueeze(1), hx[1].unsqueeze(1))
        self.check_forward_args(input, state, None)
        output, h, c = torch.lstm(
            input,
            state,
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            self.batch_first,
        )
        if is_batched:
            return output, (h, c)
        return output.squeeze(batch_dim), (h.squeeze(1), c.squeeze(1))

    @_overload_method
    def forward(
        self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]] = None
    ) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        pass

    @_overload_method
    def forward(
        self, input: PackedSequence, hx: Optional[Tuple[Tensor, Tensor]] = None
    ) -> Tuple[PackedSequence, Tuple[Tensor, Tensor]]:
        pass

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            return self._run_packed(input, hx)
        else:
            return self._run_padded(input, hx)


class RNNCellBase(Module):
    """The common part of cells: weights (gates * hidden_size, ...), input (N, H_in) or (H_in,)."""

    __constants__ = ["input_size", "hidden_size", "bias"]
    input_size: int
    hidden_size: int
    bias: bool
    weight_ih: Tensor
    weight_hh: Tensor

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        gates = num_chunks * hidden_size
        self.weight_ih = Parameter(torch.empty((gates, input_size), device=device, dtype=dtype))
        self.weight_hh = Parameter(torch.empty((gates, hidden_size), device=device, dtype=dtype))
        for name in ("bias_ih", "bias_hh"):
            made = torch.empty(gates, device=device, dtype=dtype)
            self.register_parameter(name, Parameter(made) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _batched(self, x: Optional[Tensor], input: Tensor, name: str) -> Tensor:
        """The state with a batch dimension; zeros if it is None.
        Raises ValueError for other ranks."""
        if x is None:
            n = input.size(0) if input.dim() == 2 else 1
            return torch.zeros([n, self.hidden_size], dtype=input.dtype, device=input.device)
        if x.dim() not in (1, 2):
            raise ValueError(f"{name} to be 1D or 2D, got {x.dim()}D instead")
        return x if input.dim() == 2 else x.unsqueeze(0)


class RNNCell(RNNCellBase):
    """One step of RNN: input (N, H_in) or (H_in,), state h -> h."""

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]
    nonlinearity: str

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        if input.dim() not in (1, 2):
            raise ValueError(f"RNNCell: Expected input to be 1D or 2D, got {input.dim()}D instead")
        state = self._batched(hx, input, "RNNCell: Expected hidden")
        x = input if input.dim() == 2 else input.unsqueeze(0)
        if self.nonlinearity == "tanh":
            result = torch.rnn_tanh_cell(
                x, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
            )
        elif self.nonlinearity == "relu":
            result = torch.rnn_relu_cell(
                x, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
            )
        else:
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        return result if input.dim() == 2 else result.squeeze(0)


class LSTMCell(RNNCellBase):
    """One step of LSTM: input (N, H_in) or (H_in,), state (h, c) -> (h, c)."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: Optional[Tuple[Tensor, Tensor]] = None
    ) -> Tuple[Tensor, Tensor]:
        if input.dim() not in (1, 2):
            raise ValueError(f"LSTMCell: Expected input to be 1D or 2D, got {input.dim()}D instead")
        if hx is None:
            h = self._batched(None, input, "")
            c = h
        else:
            h = self._batched(hx[0], input, "LSTMCell: Expected hx[0]")
            c = self._batched(hx[1], input, "LSTMCell: Expected hx[1]")
        x = input if input.dim() == 2 else input.unsqueeze(0)
        h, c = torch.lstm_cell(
            x, [h, c], self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        )
        return (h, c) if input.dim() == 2 else (h.squeeze(0), c.squeeze(0))


class GRUCell(RNNCellBase):
    """One step of GRU: input (N, H_in) or (H_in,), state h -> h."""

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Optional[Tensor] = None) -> Tensor:
        if input.dim() not in (1, 2):
            raise ValueError(f"GRUCell: Expected input to be 1D or 2D, got {input.dim()}D instead")
        state = self._batched(hx, input, "GRUCell: Expected hidden")
        x = input if input.dim() == 2 else input.unsqueeze(0)
        result = torch.gru_cell(
            x, state, self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh
        )
        return result if input.dim() == 2 else result.squeeze(0)
