"""Other potentials with forces inside: descriptors, force fields, sums over lattices, matrices."""

import math
from typing import Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn

from .parts import archive, edges, kinds, points


class ANI(nn.Module):
    """Symmetry functions of pairs and triples, an ensemble of networks per element; stress."""

    def __init__(self):
        super().__init__()
        self.register_buffer("eta", torch.tensor([1.0, 4.0]))
        self.register_buffer("shifts", torch.linspace(0.8, 3.5, 6))
        self.register_buffer("zeta", torch.tensor([2.0, 8.0]))
        self.register_buffer("ts", torch.linspace(0.2, 2.9, 4))
        self.nets = nn.ModuleList(
            [
                nn.ModuleList(
                    [
                        nn.Sequential(nn.Linear(12 + 8, 12), nn.CELU(0.1), nn.Linear(12, 1))
                        for _ in range(3)
                    ]
                )
                for _ in range(4)
            ]
        )

    def cutoff(self, d: Tensor) -> Tensor:
        return torch.where(d < 4.0, 0.5 * torch.cos(d * (math.pi / 4.0)) + 0.5, torch.zeros_like(d))

    def features(self, pos: Tensor) -> Tensor:
        n = pos.size(0)
        pairs = torch.combinations(torch.arange(n, device=pos.device), 2).t()
        vec = pos[pairs[0]] - pos[pairs[1]]
        d = vec.norm(2, -1)
        keep = (d <= 4.0).nonzero().flatten()
        pairs = pairs[:, keep]
        d = d[keep]
        vec = vec[keep]
        fc = self.cutoff(d)
        rad = (
            0.25
            * torch.exp(-self.eta.view(-1, 1) * (d.view(-1, 1, 1) - self.shifts) ** 2)
            * fc.view(-1, 1, 1)
        ).flatten(1)
        out = torch.zeros(n, 12, dtype=pos.dtype)
        out.index_add_(0, pairs[0], rad)
        out.index_add_(0, pairs[1], rad)
        # angles about all triples of full list
        src = torch.cat([pairs[0], pairs[1]])
        dst = torch.cat([pairs[1], pairs[0]])
        v = torch.cat([-vec, vec])
        dd = torch.cat([d, d])
        cc = torch.cat([fc, fc])
        m = src.size(0)
        a, b = torch.triu_indices(m, m, 1).unbind(0)
        same = src[a] == src[b]
        a = a[same]
        b = b[same]
        cos = 0.95 * torch.nn.functional.cosine_similarity(v[a], v[b], dim=-1)
        ang = torch.acos(cos)
        f1 = ((1 + torch.cos(ang.view(-1, 1, 1) - self.ts)) / 2) ** self.zeta.view(-1, 1)
        f2 = torch.exp(-0.5 * ((dd[a] + dd[b]) / 2).view(-1, 1, 1)) * (cc[a] * cc[b]).view(-1, 1, 1)
        out2 = torch.zeros(n, 8, dtype=pos.dtype).index_add(0, src[a], (f1 * f2).flatten(1))
        return torch.cat([out, out2], 1)

    def forward(self, pos: Tensor, z: Tensor, cell: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        strain = torch.zeros(3, 3, dtype=pos.dtype).requires_grad_(True)
        sym = 0.5 * (strain + strain.t())
        pos = pos.detach().clone().requires_grad_()
        moved = pos + torch.matmul(pos, sym)
        aev = self.features(moved)
        es: List[Tensor] = []
        for nets in self.nets:
            out = aev.new_zeros(aev.size(0))
            for k, net in enumerate(nets):
                mask = z == k
                mid = mask.nonzero().flatten()
                if mid.numel() > 0:
                    out.masked_scatter_(mask, net(aev.index_select(0, mid)).flatten())
            es.append(out.sum())
        e = torch.stack(es).mean()
        g = torch.autograd.grad([e], [pos, strain])
        f = g[0]
        s = g[1]
        assert f is not None and s is not None
        return e, -f, s / torch.abs(torch.linalg.det(cell))


@archive
def ani():
    p = points(7, 5)
    return ANI(), (p, kinds(7), torch.eye(3) * 6)


class PairHessian(nn.Module):
    """A Hessian, row by row."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(3, 10), nn.Tanh(), nn.Linear(10, 1))
        self.e = nn.Embedding(4, 1)

    def energy(self, pos: Tensor, z: Tensor) -> Tensor:
        d = pos.unsqueeze(0) - pos.unsqueeze(1)
        r2 = (d * d).sum(-1) + torch.eye(pos.size(0), dtype=pos.dtype)
        f = torch.stack([torch.exp(-r2), torch.exp(-0.5 * r2), 1 / r2], -1)
        q = self.e(z)
        return (self.net(f).squeeze(-1) * (q * q.t())).triu(1).sum()

    def forward(self, pos: Tensor, z: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        x = pos.detach().requires_grad_(True)
        e = self.energy(x, z)
        g = torch.autograd.grad([e], [x], create_graph=True, retain_graph=True)[0]
        assert g is not None
        flat = g.reshape(-1)
        rows: List[Tensor] = []
        for i in range(flat.numel()):
            h = torch.autograd.grad([flat[i]], [x], retain_graph=True)[0]
            assert h is not None
            rows.append(h.reshape(-1))
        return e, -g, torch.stack(rows)


@archive
def hessian():
    return PairHessian().double(), (points(5, 2, torch.float64), kinds(5))


class Classical(nn.Module):
    """Bonds, angles, dihedrals, Lennard-Jones and Coulomb; forces by backward()."""

    def __init__(self):
        super().__init__()
        self.k = nn.Parameter(torch.tensor([100.0, 30.0, 2.0]))
        self.sig = nn.Parameter(torch.rand(4) + 1)
        self.eps = nn.Parameter(torch.rand(4))
        self.q = nn.Parameter(torch.randn(4))

    def dihedral(self, a: Tensor, b: Tensor, c: Tensor, d: Tensor) -> Tensor:
        b1 = b - a
        b2 = c - b
        b3 = d - c
        n1 = torch.linalg.cross(b1, b2)
        n2 = torch.cross(b2, b3, dim=-1)
        m = torch.linalg.cross(n1, b2 / b2.norm(p=2, dim=-1, keepdim=True))
        return torch.atan2((m * n2).sum(-1), (n1 * n2).sum(-1))

    def forward(
        self, pos: Tensor, z: Tensor, bonds: Tensor, angles: Tensor, dih: Tensor
    ) -> Tuple[Tensor, Tensor]:
        pos.requires_grad_()
        r = pos[bonds[:, 0]] - pos[bonds[:, 1]]
        e = self.k[0] * ((r.pow(2).sum(1).sqrt() - 1.1) ** 2).sum()
        u = pos[angles[:, 0]] - pos[angles[:, 1]]
        v = pos[angles[:, 2]] - pos[angles[:, 1]]
        cos = (u * v).sum(-1) / (u.norm(p=2, dim=-1) * v.norm(p=2, dim=-1))
        e = e + self.k[1] * (torch.acos(torch.clamp(cos, -0.9999, 0.9999)) - 1.9).square().sum()
        phi = self.dihedral(pos[dih[:, 0]], pos[dih[:, 1]], pos[dih[:, 2]], pos[dih[:, 3]])
        e += self.k[2] * (1 + torch.cos(3 * phi - 0.3)).sum()
        n = pos.shape[0]
        idx = torch.triu_indices(n, n, 2)
        d = torch.pairwise_distance(pos[idx[0]], pos[idx[1]], eps=0.0)
        s = 0.5 * (self.sig[z[idx[0]]] + self.sig[z[idx[1]]])
        ep = (self.eps[z[idx[0]]] * self.eps[z[idx[1]]]).sqrt()
        x6 = (s / (d + 1)) ** 6
        lj = 4 * ep * (x6 * x6 - x6)
        co = self.q[z[idx[0]]] * self.q[z[idx[1]]] / d * torch.erfc(0.3 * d)
        e = e + lj.sum() + 0.01 * co.sum()
        e.backward()
        g = pos.grad
        assert g is not None
        return e.detach(), -g


@archive
def classical():
    n = 8
    return Classical(), (
        points(n, 9),
        kinds(n),
        torch.tensor([[i, i + 1] for i in range(n - 1)]),
        torch.tensor([[i, i + 1, i + 2] for i in range(n - 2)]),
        torch.tensor([[i, i + 1, i + 2, i + 3] for i in range(n - 3)]),
    )


class Ewald(nn.Module):
    """The reciprocal part of an Ewald sum, in complex numbers."""

    def __init__(self):
        super().__init__()
        self.register_buffer("kmax", torch.tensor(3))
        self.q = nn.Parameter(torch.randn(4))

    def forward(self, pos: Tensor, z: Tensor, cell: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        pos = pos.detach()
        pos.requires_grad_(True)
        cell = cell.detach().requires_grad_(True)
        k = int(self.kmax)
        r = torch.arange(-k, k + 1, dtype=pos.dtype)
        grid = torch.cartesian_prod(r, r, r)
        grid = grid[(grid != 0).any(-1)]
        rec = 2 * math.pi * torch.linalg.inv(cell).t()
        kv = grid @ rec
        k2 = (kv**2).sum(-1)
        phase = torch.matmul(kv, pos.t())
        q = self.q[z]
        sk = (q * torch.exp(torch.complex(torch.zeros_like(phase), phase))).sum(-1)
        e = (
            (torch.exp(-k2 / 4) / k2 * (sk * sk.conj()).real).sum()
            * 2
            * math.pi
            / torch.linalg.det(cell).abs()
        )
        gs = torch.autograd.grad([e], [pos, cell])
        a = gs[0]
        b = gs[1]
        assert a is not None
        assert b is not None
        return e, -a, b


@archive
def ewald():
    return Ewald().double(), (
        points(6, 4, torch.float64),
        kinds(6),
        torch.eye(3, dtype=torch.float64) * 5 + 0.3,
    )


class DeepMD(nn.Module):
    """Matrices of environments, by lists of neighbours that may be shorter."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Sequential(nn.Linear(1, 8), nn.Tanh(), nn.Linear(8, 16), nn.Tanh())
        self.fit = nn.Sequential(nn.Linear(16 * 4, 20), nn.Tanh(), nn.Linear(20, 1))
        self.davg = nn.Parameter(torch.zeros(4), requires_grad=False)

    def switch(self, r: Tensor) -> Tensor:
        lo = 1.0
        hi = 5.0
        u = (r - lo) / (hi - lo)
        v = u**3 * (-6 * u**2 + 15 * u - 10) + 1
        mid = torch.logical_and(r >= lo, r < hi)
        return v * mid + (r < lo)

    def forward(self, coord: Tensor, nlist: Tensor) -> Dict[str, Tensor]:
        nf, nloc, _ = coord.shape
        coord = coord.requires_grad_(True)
        mask = nlist >= 0
        idx = torch.where(mask, nlist, torch.zeros_like(nlist))
        nb = torch.gather(coord, 1, idx.view(nf, -1, 1).expand(-1, -1, 3)).view(nf, nloc, -1, 3)
        diff = nb - coord[:, :, None]
        length = torch.linalg.norm(
            diff + (~mask).unsqueeze(-1).to(diff.dtype), dim=-1, keepdim=True
        )
        sw = self.switch(length) * mask.unsqueeze(-1)
        t = torch.cat([1 / length, diff / length**2], dim=-1) * sw - self.davg
        g = self.emb(t[..., :1])
        xyz = torch.matmul(t.transpose(-2, -1), g) / nlist.size(-1)
        desc = torch.matmul(xyz.transpose(-2, -1), xyz[..., :4]).reshape(nf, nloc, -1)
        atom = self.fit(desc)
        e = atom.sum(dim=1)
        exts: List[Optional[Tensor]] = [torch.ones_like(e)]
        f = torch.autograd.grad(
            [e], [coord], grad_outputs=exts, create_graph=self.training, retain_graph=True
        )[0]
        assert f is not None
        f = -f
        vir = torch.matmul(f.unsqueeze(3), coord.unsqueeze(2)).sum(1)
        return {"energy": e, "force": f, "virial": vir.view(nf, 9)}


@archive
def deepmd():
    p = points(10, 2).view(2, 5, 3)
    nl = torch.tensor([[j for j in range(5) if j != i] + [-1, -1] for i in range(5)]).repeat(
        2, 1, 1
    )
    return DeepMD().double(), (p.double(), nl)


class Box(nn.Module):
    """Minimum image, if there is a box."""

    def __init__(self):
        super().__init__()
        self.eps = nn.Parameter(torch.tensor(0.7))

    def forward(
        self, positions: Tensor, boxvectors: Optional[Tensor] = None
    ) -> Tuple[Tensor, Tensor]:
        positions = positions.requires_grad_(True)
        delta = positions.unsqueeze(0) - positions.unsqueeze(1)
        if boxvectors is not None:
            box = torch.diagonal(boxvectors)
            delta = delta - torch.round(delta / box) * box
        r2 = (delta * delta).sum(2)
        n = positions.size(0)
        iu = torch.ones(n, n, dtype=torch.bool).triu(1)
        r = r2[iu].sqrt()
        e = (
            torch.where(
                r < 2.5,
                self.eps * torch.special.expit(-r) * torch.special.i0e(r),
                torch.zeros_like(r),
            ).sum()
            + torch.log1p(torch.exp(-r)).sum()
        )
        f = torch.autograd.grad([e], [positions])[0]
        assert f is not None
        return e, -f


@archive
def box():
    return Box(), (points(6), torch.eye(3) * 4)


@archive
def box_none():
    return Box(), (points(6),)


class OpenMM(nn.Module):
    """A global parameter of the host, and its derivative."""

    def __init__(self):
        super().__init__()
        self.register_buffer("idx", torch.combinations(torch.arange(6)))

    def forward(self, positions: Tensor, scale: float) -> Dict[str, Tensor]:
        s = torch.tensor(scale, requires_grad=True, dtype=positions.dtype)
        p = positions.detach().requires_grad_(True)
        d = (p[self.idx[:, 0]] - p[self.idx[:, 1]]).norm(p=2, dim=1)
        e = (s * torch.exp(-d) + d.sinh().tanh() * 0.1 - torch.lgamma(d + 1) * 0.01).sum()
        g = torch.autograd.grad([e], [p, s])
        a = g[0]
        b = g[1]
        assert a is not None and b is not None
        return {"e": e, "f": -a, "dEds": b}


@archive
def openmm():
    return OpenMM(), (points(6), 1.5)


class Prediction(NamedTuple):
    """What an ensemble gives."""

    energies: Tensor
    forces: Tensor
    std: Tensor


class Ensemble(nn.Module):
    """Several networks and how much they differ."""

    def __init__(self, n=3):
        super().__init__()
        self.members = nn.ModuleList(
            [
                nn.Sequential(
                    nn.Linear(6, 10), nn.GELU(approximate="tanh"), nn.Dropout(0.1), nn.Linear(10, 1)
                )
                for _ in range(n)
            ]
        )

    def forward(self, pos: Tensor) -> Prediction:
        pos = pos.requires_grad_(True)
        iu = torch.triu_indices(4, 4, 1)
        d = (pos[:, iu[0]] - pos[:, iu[1]]).norm(p=2, dim=-1)
        es: List[Tensor] = []
        for m in self.members:
            es.append(m(1 / d).squeeze(-1))
        e = torch.stack(es)
        f = torch.autograd.grad([e.mean(0).sum()], [pos])[0]
        assert f is not None
        return Prediction(energies=e.mean(0), forces=-f, std=e.std(0))


@archive
def ensemble():
    return Ensemble().eval(), (torch.randn(3, 4, 3),)


class EAM(nn.Module):
    """An embedded-atom table with splines."""

    def __init__(self):
        super().__init__()
        self.register_buffer("x", torch.linspace(0, 5, 21))
        self.register_buffer("y", torch.exp(-torch.linspace(0, 5, 21)))

    def spline(self, r: Tensor) -> Tensor:
        i = torch.clamp(torch.searchsorted(self.x, r.detach().contiguous(), right=True) - 1, 0, 19)
        t = (r - self.x[i]) / (self.x[i + 1] - self.x[i])
        return (
            (1 - t) * self.y[i]
            + t * self.y[i + 1]
            + t * (1 - t) * (self.y[i] - self.y[i + 1]) * 0.1
        )

    def forward(self, pos: Tensor, edge: Tensor) -> Tuple[Tensor, Tensor]:
        pos.requires_grad_(True)
        r = (pos[edge[0]] - pos[edge[1]]).square().sum(-1).sqrt()
        rho = torch.zeros(pos.size(0)).index_add(0, edge[0], self.spline(r))
        e = -torch.sqrt(rho + 1e-6).sum() + 0.5 * self.spline(r).sum()
        f = torch.autograd.grad([e], [pos])[0]
        assert f is not None
        return e, -f


@archive
def eam():
    p = points(7)
    return EAM(), (p, edges(p))


class Spherical(nn.Module):
    """Power spectrum of complex harmonics."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(4))

    def forward(self, pos: Tensor) -> Tuple[Tensor, Tensor]:
        pos = pos.requires_grad_(True)
        r = pos.norm(p=2, dim=-1)
        th = torch.acos(pos[:, 2] / r)
        ph = torch.atan2(pos[:, 1], pos[:, 0])
        ys: List[Tensor] = []
        for m in range(4):
            c = torch.polar(torch.sin(th) ** m, ph * m)
            a = (c * torch.exp(-r)).sum()
            ys.append((a * a.conj()).real)
        e = (torch.stack(ys) * self.w).sum()
        f = torch.autograd.grad([e], [pos])[0]
        assert f is not None
        return e, -f


@archive
def spherical():
    return Spherical(), (points(6, 12),)


class TracedEnergy(nn.Module):
    """Forces of an energy that was traced."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    def forward(self, pos: Tensor, z: Tensor) -> Tuple[Tensor, Tensor]:
        pos = pos.detach()
        pos.requires_grad_(True)
        e = self.inner(pos, z)
        g = torch.autograd.grad([e], [pos])[0]
        assert g is not None
        return e, torch.neg(g)


class Energy(nn.Module):
    """The traced energy."""

    def __init__(self):
        super().__init__()
        self.e = nn.Embedding(4, 4)
        self.m = nn.Sequential(nn.Linear(8, 8), nn.Mish(), nn.Linear(8, 1))

    def forward(self, pos, z):
        d = torch.cdist(pos, pos) + torch.eye(pos.shape[0])
        x = self.e(z)
        y = torch.stack([(torch.exp(-d * k) @ x) for k in (0.5, 1.0)], -1).flatten(1)
        return self.m(y).sum()


@archive
def traced_energy():
    p, z = points(6), kinds(6)
    return TracedEnergy(torch.jit.trace(Energy(), (p, z))), (p, z)


class PME(nn.Module):
    """Charges on a grid, by Fourier transforms."""

    def __init__(self):
        super().__init__()
        self.k: int = 8

    def forward(self, pos: Tensor, q: Tensor) -> Tuple[Tensor, Tensor]:
        pos = pos.detach().requires_grad_(True)
        g = torch.arange(self.k, dtype=pos.dtype)
        w = torch.exp(
            -4 * (torch.remainder(pos.unsqueeze(-1) - g + self.k / 2, self.k) - self.k / 2) ** 2
        )
        rho = torch.einsum("n,nx,ny,nz->xyz", q, w[:, 0], w[:, 1], w[:, 2])
        f = torch.fft.rfftn(rho)
        kx = torch.fft.fftfreq(self.k, dtype=pos.dtype).view(-1, 1, 1)
        ky = torch.fft.fftfreq(self.k, dtype=pos.dtype).view(1, -1, 1)
        kz = torch.fft.rfftfreq(self.k, dtype=pos.dtype)
        k2 = kx**2 + ky**2 + kz**2
        phi = torch.fft.irfftn(f / (k2 + 0.1), s=(self.k, self.k, self.k))
        e = (rho * phi).sum()
        fo = torch.autograd.grad([e], [pos])[0]
        assert fo is not None
        return e, -fo


@archive
def pme():
    return PME().double(), (
        torch.rand(5, 3, dtype=torch.float64) * 8,
        torch.randn(5, dtype=torch.float64),
    )


class Reductions(nn.Module):
    """Many ways of reducing over neighbours."""

    def __init__(self):
        super().__init__()
        self.l = nn.Linear(4, 4)

    def forward(self, pos: Tensor, edge: Tensor) -> Tuple[Tensor, Tensor]:
        pos = pos.requires_grad_(True)
        r = (pos[edge[0]] - pos[edge[1]]).norm(p=2, dim=1, keepdim=True)
        x = torch.tanh(self.l(torch.cat([r, r.pow(2), r.sqrt(), r.reciprocal()], 1)))
        n = pos.size(0)
        idx = edge[0].unsqueeze(1).expand_as(x)
        a = torch.zeros(n, 4).scatter_reduce(0, idx, x, "amax", include_self=False)
        b = torch.zeros(n, 4).scatter_reduce(0, idx, x, "mean", include_self=False)
        c = torch.zeros(n, 4).index_put([edge[0]], x, accumulate=True)
        s = torch.sort(c, dim=1)[0].cumsum(1)
        e = (
            (a * b).sum()
            + torch.logsumexp(s, 1).sum()
            + c.var(0).sum()
            + torch.median(c, 0)[0].sum()
        )
        f = torch.autograd.grad([e], [pos])[0]
        assert f is not None
        return e, -f


@archive
def reductions():
    p = points(7, 21)
    return Reductions(), (p, edges(p))


class ChargeEquilibration(nn.Module):
    """Charges that solve a linear system."""

    def __init__(self):
        super().__init__()
        self.chi = nn.Parameter(torch.randn(4))
        self.hard = nn.Parameter(torch.rand(4) + 2)

    def forward(self, pos: Tensor, z: Tensor, total: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        pos = pos.clone().requires_grad_(True)
        n = pos.shape[0]
        d = torch.sqrt(((pos[:, None] - pos[None]) ** 2).sum(-1) + torch.eye(n, dtype=pos.dtype))
        A = torch.zeros(n + 1, n + 1, dtype=pos.dtype)
        A[:n, :n] = torch.erf(d) / d * (1 - torch.eye(n, dtype=pos.dtype))
        A[:n, :n] += torch.diag(self.hard[z])
        A[n, :n] = 1
        A[:n, n] = 1
        b = torch.cat([-self.chi[z], total.view(1)])
        q = torch.linalg.solve(A, b)[:n]
        e = (self.chi[z] * q).sum() + 0.5 * q @ A[:n, :n] @ q
        f = torch.autograd.grad([e], [pos])[0]
        assert f is not None
        return e, q, -f


@archive
def qeq():
    return ChargeEquilibration().double(), (
        points(5, 8, torch.float64),
        kinds(5),
        torch.tensor(0.5, dtype=torch.float64),
    )


class TightBinding(nn.Module):
    """Energies of orbitals."""

    def __init__(self):
        super().__init__()
        self.on = nn.Parameter(torch.randn(4))
        self.b = nn.Parameter(torch.tensor(1.2))

    def forward(self, pos: Tensor, z: Tensor, nocc: int) -> Tuple[Tensor, Tensor]:
        pos.requires_grad_(True)
        d = torch.cdist(
            pos.unsqueeze(0), pos.unsqueeze(0), compute_mode="donot_use_mm_for_euclid_dist"
        ).squeeze(0)
        H = -torch.exp(-self.b * d)
        H = H - torch.diag(H.diagonal()) + torch.diag_embed(self.on[z])
        ev, vec = torch.linalg.eigh(H)
        e = 2 * ev[:nocc].sum()
        f = torch.autograd.grad([e], [pos])[0]
        assert f is not None
        return ev, -f


@archive
def tight_binding():
    return TightBinding().double(), (points(5, 8, torch.float64), kinds(5), 2)
