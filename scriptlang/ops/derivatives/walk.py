"""The backward pass: runs every node once, after all nodes computed from it, without recursion."""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from ...limits import check_time
from ...tensors import Tensor
from ..calling.current import mode
from .anomaly import check, tell
from .hooks import run_hooks
from .nodes import AccumulateGrad, Node
from .state import Edge


class Walk:
    """One backward pass.

    roots: the edges where it starts; grads: their gradients.
    inputs: the edges whose gradients are wanted; None for all leaves.
    keeps: whether saved tensors are kept for another pass (retain_graph).
    records: whether the pass itself is recorded (create_graph).
    accumulates: whether gradients of leaves among the inputs are added to their `grad`.
    captured: input edge -> its gradient, if `inputs` are given.
    current: the node that runs.  outer: the pass that runs the node that runs this one, or None.
    """

    def __init__(
        self,
        roots: Sequence[Edge],
        grads: Sequence[Tensor | None],
        inputs: Sequence[Edge] | None,
        keeps: bool,
        records: bool,
        accumulates: bool,
    ) -> None:
        self.keeps, self.records, self.accumulates = keeps, records, accumulates
        self.arrived: dict[Node, list[Tensor | None]] = {}
        self.inputs: dict[Node, set[int]] = {}
        self.captured: dict[Edge, Tensor] = {}
        self.current: Node | None = None
        self.outer: Walk | None = mode.walk
        for node, number in inputs or ():
            self.inputs.setdefault(node, set()).add(number)
        self.waiting = self.count([node for node, _ in roots])
        self.useful = None if inputs is None else self.find_useful()
        self.heap: list[tuple[int, int, Node]] = []
        for (node, number), grad in zip(roots, grads):
            self.add(node, number, grad)
        for node in dict.fromkeys(node for node, _ in roots):
            if not self.waiting[node]:
                self.push(node)

    def count(self, roots: list[Node]) -> dict[Node, int]:
        """Every reachable node -> how many edges lead to it."""
        waiting = dict.fromkeys(roots, 0)
        pending = list(waiting)
        while pending:
            for edge in pending.pop().edges:
                if edge is not None:
                    node = edge[0]
                    if node not in waiting:
                        waiting[node] = 0
                        pending.append(node)
                    waiting[node] += 1
        return waiting

    def find_useful(self) -> set[Node]:
        """The nodes from which an input is reached over at least one edge."""
        above: dict[Node, list[Node]] = {}
        for node in self.waiting:
            for edge in node.edges:
                if edge is not None:
                    above.setdefault(edge[0], []).append(node)
        useful: set[Node] = set()
        pending = [node for node in self.inputs if node in self.waiting]
        while pending:
            for node in above.get(pending.pop(), ()):
                if node not in useful:
                    useful.add(node)
                    pending.append(node)
        return useful

    def push(self, node: Node) -> None:
        heapq.heappush(self.heap, (-node.number, id(node), node))

    def add(self, node: Node, number: int, grad: Tensor | None) -> None:
        """Add a gradient to those of an output of a node."""
        slots = self.arrived.get(node)
        if slots is None:
            slots = self.arrived[node] = [None] * node.results
        if grad is not None:
            known = slots[number]
            slots[number] = grad if known is None else known + grad

    def run(self) -> None:
        enabled, quiet = mode.enabled, mode.is_quiet
        mode.walk = self
        try:
            while self.heap:
                if mode.enabled is not self.records:
                    mode.turn(self.records)
                mode.is_quiet = False
                self.step(heapq.heappop(self.heap)[2])
        finally:
            mode.turn(enabled)
            mode.is_quiet = quiet
            mode.walk = self.outer

    def step(self, node: Node) -> None:
        """Run one node, and pass its gradients on to the next ones."""
        check_time()
        grads = self.arrived.pop(node, None) or [None] * node.results
        runs = self.useful is None or node in self.useful
        before = list(grads)
        self.hook(node, grads)
        for number in self.inputs.get(node, ()):
            found = before[number] if runs else grads[number]  # as in PyTorch
            if found is not None:
                self.captured[node, number] = found
        del before
        if isinstance(node, AccumulateGrad):
            if self.useful is None or self.accumulates and node in self.inputs:
                self.captured.pop((node, 0), None)  # frees a reference, so the leaf may keep it
                node.apply(grads, [])
            return
        made: Sequence[Tensor | None] = ()
        if runs and any(g is not None for g in grads):
            made = self.apply(node, grads)
        elif runs:
            made = [None] * len(node.edges)
        for k, edge in enumerate(node.edges):
            if edge is None:
                continue
            target, number = edge
            grad = made[k] if k < len(made) else None
            if grad is not None and self.is_wanted(target):
                self.add(target, number, grad)
            self.waiting[target] -= 1
            if not self.waiting[target]:
                self.push(target)

    def runs(self, node: Node) -> bool:
        """Whether the pass comes to a node, and computes its gradients."""
        return node in self.waiting and self.is_wanted(node)

    def is_wanted(self, node: Node) -> bool:
        return self.useful is None or node in self.useful or node in self.inputs

    def hook(self, node: Node, grads: list[Tensor | None]) -> None:
        """Call the hooks of a node's output tensors, and its pre-hooks."""
        if isinstance(node, AccumulateGrad):
            state = node.variable._autograd
            if state is not None and state.hooks and self.is_wanted(node):
                grads[0] = run_hooks(state.hooks, grads[0])
            return
        if node.tensor_hooks:
            for number, hooks in node.tensor_hooks.items():
                grads[number] = run_hooks(hooks, grads[number])
        if node.kept:
            for number, keep in node.kept.items():
                if grads[number] is not None:
                    keep(grads[number])
        if node.before:
            for hook in list(node.before.values()):
                result = hook(tuple(grads))
                if result is not None:
                    grads[:] = result if isinstance(result, tuple) else [result]

    def apply(self, node: Node, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        wanted = [edge is not None and self.is_wanted(edge[0]) for edge in node.edges]
        self.current = node
        try:
            made = node.apply(list(grads), wanted)
            if mode.anomaly:
                check(node, made)
        except Exception:
            if mode.anomaly is not None:
                tell(node)
            raise
        finally:
            self.current = None
        if node.after:
            for hook in list(node.after.values()):
                result = hook(tuple(made), tuple(grads))
                if result is not None:
                    made = list(result) if isinstance(result, (tuple, list)) else [result]
        if not self.keeps:
            node.release()
        return made
