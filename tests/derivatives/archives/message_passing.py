"""Potentials whose atoms send each other messages, and that give forces themselves."""

import math
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor, nn

from .parts import (
    Bessel,
    Gaussians,
    PolynomialCutoff,
    ShiftedSoftplus,
    archive,
    edges,
    kinds,
    points,
)


class SchNet(nn.Module):
    """Continuous filters over neighbours, summed by index_add."""

    def __init__(self, layers=2, f=16):
        super().__init__()
        self.embed = nn.Embedding(5, f)
        self.rbf = Gaussians()
        self.filters = nn.ModuleList(
            [
                nn.Sequential(nn.Linear(16, f), ShiftedSoftplus(), nn.Linear(f, f))
                for _ in range(layers)
            ]
        )
        self.inp = nn.ModuleList([nn.Linear(f, f, bias=False) for _ in range(layers)])
        self.out = nn.ModuleList(
            [
                nn.Sequential(nn.Linear(f, f), ShiftedSoftplus(), nn.Linear(f, f))
                for _ in range(layers)
            ]
        )
        self.head = nn.Sequential(nn.Linear(f, f), ShiftedSoftplus(), nn.Linear(f, 1))

    def forward(self, pos: Tensor, z: Tensor, edge: Tensor) -> Tuple[Tensor, Tensor]:
        pos = pos.detach().requires_grad_(True)
        x = self.embed(z)
        i, j = edge[0], edge[1]
        d = (pos[i] - pos[j]).norm(p=2, dim=-1)
        w = self.rbf(d)
        c = 0.5 * (torch.cos(d * math.pi / 4.0) + 1.0)
        for filt, a, b in zip(self.filters, self.inp, self.out):
            h = a(x)
            m = h[j] * filt(w) * c.unsqueeze(-1)
            x = x + b(torch.zeros_like(x).index_add(0, i, m))
        e = self.head(x).sum()
        grads = torch.autograd.grad([e], [pos], create_graph=self.training)
        g = grads[0]
        assert g is not None
        return e, -g


@archive
def schnet():
    p = points()
    return SchNet().eval(), (p, kinds(), edges(p))


@archive
def schnet_train():
    p = points()
    return SchNet().train(), (p, kinds(), edges(p))


class PaiNN(nn.Module):
    """Scalars and vectors that atoms send each other, by scatter_add."""

    def __init__(self, f=8, layers=2):
        super().__init__()
        self.f = f
        self.embed = nn.Embedding(5, f)
        self.bessel = Bessel()
        self.cut = PolynomialCutoff()
        self.phi = nn.ModuleList(
            [nn.Sequential(nn.Linear(f, f), nn.SiLU(), nn.Linear(f, 3 * f)) for _ in range(layers)]
        )
        self.w = nn.ModuleList([nn.Linear(8, 3 * f) for _ in range(layers)])
        self.u = nn.ModuleList([nn.Linear(f, f, bias=False) for _ in range(layers)])
        self.v = nn.ModuleList([nn.Linear(f, f, bias=False) for _ in range(layers)])
        self.mix = nn.ModuleList(
            [
                nn.Sequential(nn.Linear(2 * f, f), nn.SiLU(), nn.Linear(f, 3 * f))
                for _ in range(layers)
            ]
        )
        self.head = nn.Linear(f, 1)

    def forward(self, data: Dict[str, Tensor]) -> Dict[str, Tensor]:
        pos = data["pos"]
        pos.requires_grad_(True)
        i, j = data["edge"].unbind(0)
        r = pos.index_select(0, j) - pos.index_select(0, i)
        d = torch.linalg.norm(r, dim=1)
        u = r / d.unsqueeze(-1)
        s = self.embed(data["z"])
        n = s.size(0)
        v = torch.zeros(n, 3, self.f, dtype=s.dtype, device=s.device)
        for phi, w, um, vm, mix in zip(self.phi, self.w, self.u, self.v, self.mix):
            filt = w(self.bessel(d)) * self.cut(d).unsqueeze(-1)
            x = phi(s)[j] * filt
            ds, dv1, dv2 = torch.split(x, self.f, dim=-1)
            s = s + torch.zeros_like(s).scatter_add(0, i.unsqueeze(-1).expand_as(ds), ds)
            vv = v[j] * dv1.unsqueeze(1) + u.unsqueeze(-1) * dv2.unsqueeze(1)
            v = v + torch.zeros_like(v).index_add_(0, i, vv)
            U = um(v)
            V = vm(v)
            nv = torch.sqrt((V**2).sum(1) + 1e-8)
            a, b, c = torch.chunk(mix(torch.cat([s, nv], -1)), 3, -1)
            s = s + a + c * (U * V).sum(1)
            v = v + b.unsqueeze(1) * U
        per = self.head(s).squeeze(-1)
        e = per.sum()
        g = torch.autograd.grad(
            [e], [pos], torch.jit.annotate(List[Optional[Tensor]], [torch.ones_like(e)])
        )[0]
        assert g is not None
        return {"energy": e.detach(), "forces": -g, "per_atom": per.detach()}


@archive
def painn():
    p = points(8, 3)
    return PaiNN(), ({"pos": p, "z": kinds(8), "edge": edges(p)},)


class TensorProducts(nn.Module):
    """Products of spherical harmonics by einsum, in periodic cells of a batch."""

    def __init__(self, f=6):
        super().__init__()
        self.f = f
        self.embed = nn.Embedding(4, f)
        self.rad = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 5 * f))
        self.bes = Bessel()
        self.cut = PolynomialCutoff()
        self.l0 = nn.Linear(2 * f, f)
        self.w1 = nn.Parameter(torch.randn(f, f) * 0.3)
        self.w2 = nn.Parameter(torch.randn(f, f) * 0.3)
        self.register_buffer("cg", torch.randn(3, 3, 5))
        self.head = nn.Linear(f, 1, bias=False)
        self.register_buffer("scale", torch.tensor(1.3))
        self.register_buffer("shift", torch.randn(4))

    def sph(self, u: Tensor) -> Tuple[Tensor, Tensor, Tensor]:
        x, y, z = u[:, 0], u[:, 1], u[:, 2]
        s3 = math.sqrt(3.0)
        l2 = torch.stack(
            [
                s3 * x * z,
                s3 * x * y,
                y**2 - 0.5 * (x**2 + z**2),
                s3 * y * z,
                s3 / 2 * (z**2 - x**2),
            ],
            -1,
        )
        return torch.ones_like(x).unsqueeze(-1), u, l2

    def forward(
        self, pos: Tensor, z: Tensor, edge: Tensor, shifts: Tensor, cell: Tensor, batch: Tensor
    ) -> Tuple[Tensor, Tensor, Tensor]:
        if True:
            pos = pos.requires_grad_(True)
            nb = int(batch.max()) + 1
            disp = torch.zeros((nb, 3, 3), dtype=pos.dtype, device=pos.device)
            disp.requires_grad_(True)
            sym = 0.5 * (disp + disp.transpose(-1, -2))
            pos2 = pos + torch.einsum("be,bec->bc", pos, sym[batch])
            cell2 = cell + torch.matmul(cell, sym)
            s, r = edge[0], edge[1]
            vec = pos2[r] - pos2[s] + torch.einsum("ni,nij->nj", shifts, cell2[batch[s]])
            d = vec.norm(p=2, dim=-1)
            y0, y1, y2 = self.sph(nn.functional.normalize(vec, dim=-1))
            w = (self.rad(self.bes(d)) * self.cut(d).unsqueeze(-1)).view(-1, 5, self.f)
            h = self.embed(z)
            n = h.size(0)
            src = h[s]
            m0 = w[:, 0] * src
            m1 = torch.einsum("ef,ei->efi", w[:, 1] * src, y1)
            m2 = torch.einsum("ef,ei->efi", w[:, 2] * src, y2)
            a0 = torch.zeros(n, self.f, dtype=h.dtype).index_add(0, r, m0)
            a1 = torch.zeros(n, self.f, 3, dtype=h.dtype).index_add(0, r, m1)
            a2 = torch.zeros(n, self.f, 5, dtype=h.dtype).index_add(0, r, m2)
            b = torch.einsum("nfi,nfj,ijk,nfk->nf", a1, a1, self.cg, a2)
            b = (
                b
                + torch.einsum("nfi,fg,ngi->nf", a1, self.w1, a1)
                + torch.einsum("nfi,fg,ngi->nf", a2, self.w2, a2)
            )
            o = torch.sigmoid(self.l0(torch.cat([a0, b], -1))) * a0
            per = self.head(o).squeeze(-1) * self.scale + self.shift[z]
            e = torch.zeros(nb, dtype=pos.dtype).index_add(0, batch, per)
            ones: List[Optional[Tensor]] = [torch.ones_like(e)]
            g = torch.autograd.grad(
                outputs=[e],
                inputs=[pos, disp],
                grad_outputs=ones,
                retain_graph=self.training,
                create_graph=self.training,
                allow_unused=True,
            )
            f = g[0]
            vir = g[1]
            if f is None:
                f = torch.zeros_like(pos)
            if vir is None:
                vir = torch.zeros_like(disp)
            vol = torch.linalg.det(cell).abs().view(-1, 1, 1)
        return e, -f, vir / vol


@archive
def nequip():
    p = points(10, 7)
    b = torch.tensor([0] * 5 + [1] * 5)
    e = edges(p)
    e = e[:, (b[e[0]] == b[e[1]])]
    g = torch.Generator().manual_seed(3)
    sh = torch.randint(-1, 2, (e.size(1), 3), generator=g).float() * 0.0
    return TensorProducts(), (p, kinds(10), e, sh, torch.eye(3).repeat(2, 1, 1) * 8, b)


@archive
def nequip_train():
    m, a = nequip()
    return m.train(), a


@archive
def nequip_double():
    m, a = nequip()
    return m.double(), tuple(x.double() if x.is_floating_point() else x for x in a)


class EGNN(nn.Module):
    """Positions that move from layer to layer, with layer norms."""

    def __init__(self, f=12):
        super().__init__()
        self.emb = nn.Embedding(4, f)
        self.e = nn.ModuleList(
            [
                nn.Sequential(
                    nn.Linear(2 * f + 1, f), nn.SiLU(), nn.LayerNorm(f), nn.Linear(f, f), nn.SiLU()
                )
                for _ in range(2)
            ]
        )
        self.x = nn.ModuleList(
            [
                nn.Sequential(nn.Linear(f, f), nn.SiLU(), nn.Linear(f, 1, bias=False))
                for _ in range(2)
            ]
        )
        self.n = nn.ModuleList(
            [nn.Sequential(nn.Linear(2 * f, f), nn.GELU(), nn.Linear(f, f)) for _ in range(2)]
        )
        self.att = nn.Linear(f, 1)
        self.head = nn.Linear(f, 1)

    def forward(self, pos: Tensor, z: Tensor, mask: Tensor) -> List[Tensor]:
        pos = pos.requires_grad_(True)
        x = pos
        h = self.emb(z)
        for e, xx, nn_ in zip(self.e, self.x, self.n):
            d = x.unsqueeze(1) - x.unsqueeze(2)
            r = (d**2).sum(-1, keepdim=True)
            n = h.size(1)
            m = e(
                torch.cat(
                    [h.unsqueeze(1).expand(-1, n, -1, -1), h.unsqueeze(2).expand(-1, -1, n, -1), r],
                    -1,
                )
            )
            m = m * torch.sigmoid(self.att(m)) * mask.unsqueeze(-1)
            x = x + (d * xx(m) * mask.unsqueeze(-1)).sum(2) / (n - 1)
            h = h + nn_(torch.cat([h, m.sum(2)], -1))
        e2 = self.head(h).squeeze(-1).sum(-1)
        f = torch.autograd.grad([e2.sum()], [pos])[0]
        if f is not None:
            return [e2, torch.neg(f)]
        raise RuntimeError("none")


@archive
def egnn():
    p = points(12, 3).view(2, 6, 3)
    return EGNN(), (p, kinds(12).view(2, 6), (1 - torch.eye(6)).repeat(2, 1, 1))


class AtomAttention(nn.Module):
    """Attention of atoms to each other."""

    def __init__(self, f=16, heads=4):
        super().__init__()
        self.heads = heads
        self.emb = nn.Embedding(4, f)
        self.q = nn.Linear(f, f)
        self.k = nn.Linear(f, f)
        self.v = nn.Linear(f, f)
        self.dk = nn.Linear(16, f)
        self.norm = nn.LayerNorm(f)
        self.o = nn.Linear(f, 1)
        self.g = Gaussians()

    def forward(
        self, z: Tensor, pos: Tensor, batch: Optional[Tensor] = None
    ) -> Tuple[Tensor, Optional[Tensor]]:
        batch = torch.zeros_like(z) if batch is None else batch
        pos.requires_grad_(True)
        n = z.size(0)
        d = torch.cdist(pos, pos + 1e-3)
        same = batch.unsqueeze(0) == batch.unsqueeze(1)
        x = self.norm(self.emb(z))
        q = self.q(x).view(n, self.heads, -1)
        k = self.k(x).view(n, self.heads, -1)
        v = self.v(x).view(n, self.heads, -1)
        dk = torch.nn.functional.silu(self.dk(self.g(d))).view(n, n, self.heads, -1)
        a = torch.einsum("ihf,jhf,ijhf->ijh", q, k, dk).masked_fill(
            ~same.unsqueeze(-1), float("-inf")
        )
        a = a.softmax(1)
        y = torch.einsum("ijh,jhf->ihf", a, v).reshape(n, -1)
        e = torch.zeros(int(batch.max().item()) + 1, dtype=pos.dtype).scatter_add_(
            0, batch, self.o(x + y).squeeze(1)
        )
        grad_outputs: List[Optional[Tensor]] = [torch.ones_like(e)]
        dy = torch.autograd.grad(
            [e], [pos], grad_outputs=grad_outputs, create_graph=True, retain_graph=True
        )[0]
        if dy is None:
            raise RuntimeError("Autograd returned None for the force prediction.")
        return e, -dy


@archive
def torchmd():
    return AtomAttention(), (kinds(8), points(8), torch.tensor([0] * 4 + [1] * 4))


@archive
def torchmd_default():
    return AtomAttention(), (kinds(8), points(8))


class MACE(nn.Module):
    """What is wanted is said by flags: forces, virials, stress, the Hessian."""

    heads: List[str]

    def __init__(self, f=8):
        super().__init__()
        self.heads = ["default", "other"]
        self.register_buffer("atomic_numbers", torch.tensor([1, 6, 8]))
        self.register_buffer("r_max", torch.tensor(4.0))
        self.register_buffer("e0", torch.tensor([-13.6, -1029.0, -2042.0]))
        self.emb = nn.Linear(3, f, bias=False)
        self.bes = Bessel()
        self.cut = PolynomialCutoff()
        self.rad = nn.Sequential(nn.Linear(8, 16), nn.SiLU(), nn.Linear(16, 2 * f))
        self.prod = nn.Parameter(torch.randn(3, f, f) * 0.2)
        self.read = nn.Linear(f, 1)

    def forward(
        self,
        data: Dict[str, Tensor],
        training: bool = False,
        compute_force: bool = True,
        compute_virials: bool = False,
        compute_stress: bool = False,
        compute_hessian: bool = False,
    ) -> Dict[str, Optional[Tensor]]:
        data["positions"].requires_grad_(True)
        data["node_attrs"].requires_grad_(True)
        num_graphs = data["ptr"].numel() - 1
        displacement = torch.zeros(
            (num_graphs, 3, 3), dtype=data["positions"].dtype, device=data["positions"].device
        )
        pos = data["positions"]
        shifts = data["shifts"]
        if compute_virials or compute_stress:
            displacement.requires_grad_(True)
            sym = 0.5 * (displacement + displacement.transpose(-1, -2))
            pos = pos + torch.einsum("be,bec->bc", pos, sym[data["batch"]])
            cell = data["cell"].view(-1, 3, 3)
            cell = cell + torch.matmul(cell, sym)
            shifts = torch.einsum(
                "be,bec->bc", data["unit_shifts"], cell[data["batch"][data["edge_index"][0]]]
            )
        e0 = torch.matmul(data["node_attrs"], self.e0)
        h = self.emb(data["node_attrs"])
        s, r = data["edge_index"][0], data["edge_index"][1]
        vec = pos[r] - pos[s] + shifts
        ln = torch.linalg.norm(vec, dim=-1, keepdim=True)
        ef = self.bes(ln.squeeze(-1)) * self.cut(ln)
        w = self.rad(ef).view(ln.size(0), 2, -1)
        y = vec / ln
        A0 = torch.zeros_like(h).index_add_(0, r, h[s] * w[:, 0])
        A1 = torch.zeros(h.size(0), h.size(1), 3, dtype=h.dtype).index_add_(
            0, r, (h[s] * w[:, 1]).unsqueeze(-1) * y.unsqueeze(1)
        )
        B = (
            A0 @ self.prod[0]
            + (A1**2).sum(-1) @ self.prod[1]
            + (A0 * (A1 * A1).sum(-1)) @ self.prod[2]
        )
        node = e0 + self.read(torch.tanh(B)).squeeze(-1)
        energy = torch.zeros(num_graphs, dtype=node.dtype).scatter_add(0, data["batch"], node)
        forces: Optional[Tensor] = None
        virials: Optional[Tensor] = None
        stress: Optional[Tensor] = None
        hess: Optional[Tensor] = None
        grad_outputs: List[Optional[Tensor]] = [torch.ones_like(energy)]
        if compute_virials or compute_stress:
            gf, gv = torch.autograd.grad(
                outputs=[energy],
                inputs=[data["positions"], displacement],
                grad_outputs=grad_outputs,
                retain_graph=(training or compute_hessian),
                create_graph=(training or compute_hessian),
                allow_unused=True,
            )
            if gf is not None:
                forces = -1 * gf
            if gv is not None:
                virials = -1 * gv
                if compute_stress:
                    c = data["cell"].view(-1, 3, 3)
                    vol = torch.linalg.det(c).abs().unsqueeze(-1)
                    stress = gv / vol.view(-1, 1, 1)
                    stress = torch.where(torch.abs(stress) < 1e10, stress, torch.zeros_like(stress))
        elif compute_force:
            gf = torch.autograd.grad(
                outputs=[energy],
                inputs=[data["positions"]],
                grad_outputs=grad_outputs,
                retain_graph=(training or compute_hessian),
                create_graph=(training or compute_hessian),
                allow_unused=True,
            )[0]
            if gf is not None:
                forces = -1 * gf
        if compute_hessian and forces is not None:
            ff = forces.view(-1)
            rows: List[Tensor] = []
            for g in ff:
                hr = torch.autograd.grad(
                    outputs=[g],
                    inputs=[data["positions"]],
                    grad_outputs=torch.jit.annotate(
                        Optional[List[Optional[Tensor]]], [torch.ones_like(g)]
                    ),
                    retain_graph=True,
                    create_graph=False,
                    allow_unused=False,
                )[0]
                if hr is None:
                    rows.append(torch.zeros_like(data["positions"]))
                else:
                    rows.append(hr)
            hess = -1 * torch.stack(rows)
        return {
            "energy": energy,
            "node_energy": node,
            "forces": forces,
            "virials": virials,
            "stress": stress,
            "hessian": hess,
        }


def mace_data(dtype=torch.float64):
    p = points(8, 11, dtype)
    z = kinds(8)
    e = edges(p)
    return {
        "positions": p,
        "node_attrs": nn.functional.one_hot(z, 3).to(dtype),
        "edge_index": e,
        "shifts": torch.zeros(e.size(1), 3, dtype=dtype),
        "unit_shifts": torch.zeros(e.size(1), 3, dtype=dtype),
        "cell": torch.eye(3, dtype=dtype) * 9,
        "batch": torch.zeros(8, dtype=torch.long),
        "ptr": torch.tensor([0, 8]),
    }


@archive
def mace():
    return MACE().double(), (mace_data(),)


@archive
def mace_stress():
    return MACE().double(), (mace_data(), False, True, False, True)


@archive
def mace_hessian():
    return MACE().double(), (mace_data(), False, True, False, False, True)


@archive
def mace_f32_train():
    return MACE(), (mace_data(torch.float32), True, True, True, False)
