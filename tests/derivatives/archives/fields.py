"""Models other than potentials that differentiate inside."""

from typing import List, Optional, Tuple

import torch
from torch import Tensor, nn

from .parts import archive


class PINN(nn.Module):
    """The residual of Burgers' equation, of second derivatives of a network."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(2, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1)
        )
        self.nu = nn.Parameter(torch.tensor(0.1))

    def forward(self, t: Tensor, x: Tensor) -> Tensor:
        t = t.requires_grad_()
        x = x.requires_grad_()
        u = self.net(torch.stack([t, x], 1))
        ones: List[Optional[Tensor]] = [torch.ones_like(u)]
        ut = torch.autograd.grad([u], [t], ones, create_graph=True)[0]
        ux = torch.autograd.grad([u], [x], ones, create_graph=True)[0]
        assert ut is not None and ux is not None
        one1: List[Optional[Tensor]] = [torch.ones_like(ux)]
        uxx = torch.autograd.grad([ux], [x], one1, create_graph=True)[0]
        assert uxx is not None
        return ut + u.squeeze(1) * ux - self.nu * uxx


@archive
def pinn():
    return PINN(), (torch.rand(11), torch.rand(11))


class HNN(nn.Module):
    """Leapfrog steps in the field of a learnt Hamiltonian."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(4, 16), nn.Softplus(), nn.Linear(16, 1))

    def grad(self, q: Tensor, p: Tensor) -> Tuple[Tensor, Tensor]:
        q = q.detach().requires_grad_(True)
        p = p.detach().requires_grad_(True)
        h = self.net(torch.cat([q, p], -1)).sum()
        gs = torch.autograd.grad([h], [q, p])
        a, b = gs[0], gs[1]
        assert a is not None and b is not None
        return a, b

    def forward(
        self, q: Tensor, p: Tensor, steps: int, dt: float = 0.05
    ) -> Tuple[Tensor, Tensor, List[float]]:
        es: List[float] = []
        for _ in range(steps):
            dq, _dp = self.grad(q, p)
            p = p - 0.5 * dt * dq
            _dq, dp = self.grad(q, p)
            q = q + dt * dp
            dq, _dp = self.grad(q, p)
            p = p - 0.5 * dt * dq
            with torch.no_grad():
                es.append(float(self.net(torch.cat([q, p], -1)).sum()))
        return q, p, es


@archive
def hamiltonian():
    return HNN(), (torch.randn(3, 2), torch.randn(3, 2), 4)


class Relaxation(nn.Module):
    """Descent by backward(), until the gradient is small."""

    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.tensor([1.0, 2.0, 0.5]))

    def energy(self, x: Tensor) -> Tensor:
        return ((x - self.a) ** 4).sum() + (x * x).sum()

    def forward(self, x: Tensor, n: int) -> Tuple[Tensor, int]:
        y = x.detach().clone()
        used = 0
        for i in range(n):
            y.requires_grad_(True)
            e = self.energy(y)
            e.backward()
            g = y.grad
            assert g is not None
            y = (y - 0.05 * g).detach()
            used += 1
            if float(g.abs().max()) < 0.05:
                break
        return y, used


@archive
def relax():
    return Relaxation(), (torch.randn(4, 3), 30)


class Image(nn.Module):
    """Convolutions of an image."""

    def __init__(self):
        super().__init__()
        self.c = nn.Sequential(
            nn.Conv2d(1, 4, 3, padding=1),
            nn.Softplus(),
            nn.Conv2d(4, 4, 3, stride=2),
            nn.ELU(),
            nn.AdaptiveAvgPool2d(1),
        )
        self.bn = nn.BatchNorm2d(1)

    def forward(self, img: Tensor) -> Tuple[Tensor, Tensor]:
        img = img.clone().requires_grad_(True)
        s = self.c(self.bn(img)).flatten(1).sum(1)
        g = torch.autograd.grad([s.sum()], [img])[0]
        assert g is not None
        return s, g


@archive
def grid():
    return Image().eval(), (torch.randn(2, 1, 9, 9),)


class Saliency(nn.Module):
    """By which pixels a class was chosen."""

    def __init__(self):
        super().__init__()
        self.f = nn.Sequential(
            nn.Conv2d(3, 6, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(6 * 9, 5)
        )

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        x = x.detach().requires_grad_(True)
        y = self.f(x)
        k = y.argmax(1)
        g = torch.autograd.grad([y.gather(1, k.unsqueeze(1)).sum()], [x])[0]
        assert g is not None
        return torch.softmax(y, 1), g.abs().amax(1)


@archive
def saliency():
    return Saliency(), (torch.randn(2, 3, 8, 8),)


class SDF(nn.Module):
    """Normals of a surface, and the eikonal term."""

    def __init__(self):
        super().__init__()
        self.a = nn.Linear(3, 24)
        self.b = nn.Linear(27, 24)
        self.c = nn.Linear(24, 1)
        self.s = nn.Softplus(beta=100)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        x = x.requires_grad_(True)
        h = self.s(self.a(x))
        h = self.s(self.b(torch.cat([h, x], -1)))
        d = self.c(h)
        g = torch.autograd.grad(
            [d],
            [x],
            torch.jit.annotate(List[Optional[Tensor]], [torch.ones_like(d)]),
            create_graph=True,
            retain_graph=True,
        )[0]
        assert g is not None
        return d, nn.functional.normalize(g, dim=-1), ((g.norm(2, dim=1) - 1) ** 2).mean()


@archive
def sdf():
    return SDF(), (torch.randn(13, 3),)


class GaussianProcess(nn.Module):
    """A Gaussian process: gradients by its own parameters, and by places."""

    def __init__(self):
        super().__init__()
        self.ls = nn.Parameter(torch.tensor(0.3))
        self.noise = nn.Parameter(torch.tensor(-1.0))

    def forward(self, x: Tensor, y: Tensor, t: Tensor) -> Tuple[Tensor, Tensor, List[Tensor]]:
        t = t.detach().requires_grad_()
        k = torch.exp(-0.5 * torch.cdist(x, x).pow(2) / self.ls.exp() ** 2) + torch.eye(
            x.size(0)
        ) * (self.noise.exp() + 1e-3)
        L = torch.linalg.cholesky(k)
        al = torch.cholesky_solve(y.unsqueeze(1), L)
        nll = 0.5 * (y.unsqueeze(0) @ al).squeeze() + L.diagonal().log().sum()
        m = (
            torch.exp(-0.5 * ((t.unsqueeze(1) - x.unsqueeze(0)) ** 2).sum(-1) / self.ls.exp() ** 2)
            @ al
        )
        g = torch.autograd.grad([m.sum()], [t], retain_graph=True)[0]
        h = torch.autograd.grad([nll], [self.ls, self.noise])
        out: List[Tensor] = []
        for a in h:
            if a is not None:
                out.append(a)
        assert g is not None
        return m, g, out


@archive
def gaussian_process():
    return GaussianProcess(), (torch.randn(7, 2), torch.randn(7), torch.randn(3, 2))


class Chain(nn.Module):
    """LSTM and GRU over a chain of beads."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 8, 1, batch_first=True, bidirectional=True)
        self.gru = nn.GRUCell(16, 6)
        self.o = nn.Linear(6, 1)

    def forward(self, x: Tensor) -> Tuple[Tensor, Tensor]:
        x = x.detach().requires_grad_(True)
        y, _ = self.lstm(x)
        h = torch.zeros(x.size(0), 6)
        for i in range(x.size(1)):
            h = self.gru(y[:, i], h)
        e = self.o(h)
        g = torch.autograd.grad([e.sum()], [x])[0]
        assert g is not None
        return e, -g


@archive
def chain():
    return Chain(), (torch.randn(2, 5, 3),)


class Polarizability(nn.Module):
    """A Jacobian, column by column."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(5, 3, 3) * 0.3)

    def forward(self, x: Tensor, field: Tensor) -> Tuple[Tensor, Tensor]:
        field = field.detach().requires_grad_(True)
        h = torch.tanh(x @ self.w[0] + field @ self.w[1])
        mu = (h * x).sum(0) + torch.sin(field) @ self.w[2]
        al = torch.zeros(3, 3)
        for i in range(3):
            go = torch.zeros_like(mu)
            go[i] = 1.0
            g = torch.autograd.grad(
                [mu], [field], torch.jit.annotate(List[Optional[Tensor]], [go]), retain_graph=i < 2
            )[0]
            assert g is not None
            al[i] = g
        return mu, al


@archive
def polar():
    return Polarizability(), (torch.randn(4, 3), torch.randn(3))


class Online(nn.Module):
    """A module that learns in a method of its own."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 1)
        self.register_buffer("seen", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        return self.l(x)

    @torch.jit.export
    def learn(self, x: Tensor, y: Tensor, lr: float) -> float:
        loss = nn.functional.mse_loss(self.l(x).squeeze(-1), y)
        ps = [self.l.weight, self.l.bias]
        gs = torch.autograd.grad([loss], ps)
        with torch.no_grad():
            for p, g in zip(ps, gs):
                if g is not None:
                    p.sub_(g, alpha=lr)
        self.seen += x.size(0)
        return float(loss)


@archive
def online():
    return Online(), (torch.randn(3, 4),)


class Context(nn.Module):
    """Gradients in one branch, none in the other."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(3, 3)
        self.calls: int = 0

    def forward(self, x: Tensor, grads: bool) -> Tuple[Tensor, Optional[Tensor]]:
        self.calls += 1
        force: Optional[Tensor] = None
        if grads:
            if True:
                y = x.detach().requires_grad_(True)
                e = torch.tanh(self.l(y)).pow(2).sum()
                force = torch.autograd.grad([e], [y])[0]
        else:
            with torch.no_grad():
                e = torch.tanh(self.l(x)).pow(2).sum()
        return e, force


@archive
def context_on():
    return Context(), (torch.randn(4, 3), True)


@archive
def context_off():
    return Context(), (torch.randn(4, 3), False)
