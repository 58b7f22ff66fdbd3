"""The backward pass: runs every node once, after all nodes computed from it, without recursion."""

from __future__ import annotations

import heapq
import threading
from collections import deque
from collections.abc import Callable, Sequence

from ...limits import check_time
from ...tensors import Tensor
from ..calling.current import engine, mode
from .accumulate import accumulate
from .anomaly import check, tell
from .hooks import gradients_of, run_hooks
from .nodes import AccumulateGrad, Node
from .slices import CopySlices
from .state import Edge

DEPTH = 40
"""So many passes inside of each other run in one thread."""


class Walk:
    """One backward pass.

    roots: the edges where it starts; grads: their gradients.
    inputs: the edges whose gradients are wanted; None for all leaves.
    keeps: whether saved tensors are kept for another pass (retain_graph).
    records: whether the pass itself is recorded (create_graph).
    accumulates: whether gradients of leaves among the inputs are added to their `grad`.
    captured: input edge -> its gradient, if `inputs` are given.
    steps: the writes of nodes CopySlices, which may be nodes of the pass themselves, if a second
    derivative goes through what they saved; late: nodes that are released at the end for that.
    current: the node that runs.  outer: the pass that runs the node that runs this one, or None.
    depth: how many passes are outside of it.  callbacks: what users want to be called at its end.
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
        self.callbacks: deque[Callable[[], None]] = deque()
        self.outer: Walk | None = mode.walk
        self.depth: int = 0 if self.outer is None else self.outer.depth + 1
        for node, number in inputs or ():
            self.inputs.setdefault(node, set()).add(number)
        self.steps: set[Node] = set()
        self.late: list[Node] = []
        self.roots, self.grads = roots, grads
        self.waiting: dict[Node, int] = {}
        self.useful: set[Node] | None = None if inputs is None else set()
        self.heap: list[tuple[int, int, Node]] = []
        self.pushed = 0

    def start(self) -> None:
        """Find the nodes, and give the first ones their gradients."""
        self.waiting = self.count([node for node, _ in self.roots])
        if self.useful is not None:
            self.useful = self.find_useful()
        for (node, number), grad in zip(self.roots, self.grads):
            self.add(node, number, grad)
        for node in dict.fromkeys(node for node, _ in self.roots):
            if not self.waiting[node]:
                self.push(node)

    def count(self, roots: list[Node]) -> dict[Node, int]:
        """Every reachable node -> how many edges lead to it."""
        waiting = dict.fromkeys(roots, 0)
        pending = list(waiting)
        while pending:
            source = pending.pop()
            if isinstance(source, CopySlices):
                self.steps.add(source.step)
            for edge in source.edges:
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
        self.pushed += 1  # of leaves, which have one number, those that are ready first run first
        heapq.heappush(self.heap, (-node.number, self.pushed, node))

    def add(self, node: Node, number: int, grad: Tensor | None) -> None:
        """Add a gradient to those of an output of a node."""
        slots = self.arrived.get(node)
        if slots is None:
            slots = self.arrived[node] = [None] * node.results
        if grad is not None:
            known = slots[number]
            slots[number] = grad if known is None else known + grad

    def run(self) -> None:
        """Make the pass; one that is deep inside of others runs in a thread of its own.

        A backward that a user wrote may go backward itself: so many calls of Python in each other
        are not allowed in one thread.
        """
        if self.depth % DEPTH or not self.depth:
            self.go()
            return
        failed: list[BaseException] = []
        state = dict(vars(mode))

        def work() -> None:
            vars(mode).update(state)
            mode.turn(mode.enabled)
            mode.tell()
            try:
                self.go()
            except BaseException as error:
                failed.append(error)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        if failed:
            raise failed[0]

    def go(self) -> None:
        enabled, quiet = mode.enabled, mode.is_quiet
        mode.walk = self
        mode.is_quiet = False
        try:
            if not self.is_gone():
                self.start()
            while self.heap:
                if mode.enabled is not self.records:
                    mode.turn(self.records)
                mode.is_quiet = False
                self.step(heapq.heappop(self.heap)[2])
            for node in self.late:
                node.release()
            while self.callbacks:  # they may add others
                self.callbacks.popleft()()
        finally:
            mode.turn(enabled)
            mode.is_quiet = quiet
            mode.walk = self.outer

    def is_gone(self) -> bool:
        """Whether the native engine has made the pass. Gradients with tangents are Python's."""
        if not engine or mode.anomaly is not None or mode.levels:
            return False
        inputs = None if self.useful is None else self.inputs
        return bool(engine[0].go_back(self, list(self.roots), list(self.grads), inputs))

    def step(self, node: Node) -> None:
        """Run one node, and pass its gradients on to the next ones."""
        check_time()
        grads = self.arrived.pop(node, None) or [None] * node.results
        runs = self.useful is None or node in self.useful
        if self.accumulates and node in self.inputs:
            runs = True
        elif runs and node in self.inputs:
            self.capture(node, grads)  # before hooks, as in PyTorch
        if runs or node in self.inputs:
            self.hook(node, grads)
        made: Sequence[Tensor | None] = ()
        if runs:
            self.hook_before(node, grads)
            if isinstance(node, AccumulateGrad):
                self.take(node, grads)
                return
            made = self.apply(node, grads)
        elif node in self.inputs:
            self.capture(node, grads)
            if isinstance(node, AccumulateGrad):
                return
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
        if not self.waiting:
            self.waiting = self.count([root for root, _ in self.roots])
        return node in self.waiting and self.is_wanted(node)

    def is_wanted(self, node: Node) -> bool:
        return self.useful is None or node in self.useful or node in self.inputs

    def capture(self, node: Node, grads: list[Tensor | None]) -> None:
        """Keep the gradients of a node's outputs that are asked for."""
        for number in self.inputs[node]:
            found = grads[number]
            if found is not None:
                self.captured[node, number] = found

    def take(self, leaf: AccumulateGrad, grads: list[Tensor | None]) -> None:
        """Add the gradient of a leaf to its `grad`, and call the hooks of its node."""
        if not leaf.after:
            accumulate(leaf.variable, grads[0])
            return
        given = tuple(grads)  # hooks see the memory that becomes the leaf's gradient
        accumulate(leaf.variable, grads[0], others=1)
        for hook in list(leaf.after.values()):
            hook((), given)

    def hook(self, node: Node, grads: list[Tensor | None]) -> None:
        """Call the hooks of a node's output tensors."""
        if isinstance(node, AccumulateGrad):
            state = node.variable._autograd
            if state is not None and state.hooks:
                grads[0] = run_hooks(state.hooks, grads[0])
            return
        if node.tensor_hooks:
            for number, hooks in node.tensor_hooks.items():
                grads[number] = run_hooks(hooks, grads[number])
        if node.kept:
            for number, keep in node.kept.items():
                if grads[number] is not None:
                    keep(grads[number])

    def hook_before(self, node: Node, grads: list[Tensor | None]) -> None:
        """Call the pre-hooks of a node."""
        if node.before:
            for hook in list(node.before.values()):
                result = hook(tuple(grads))
                if result is not None:
                    grads[:] = gradients_of(result, len(grads), hook)

    def apply(self, node: Node, grads: list[Tensor | None]) -> Sequence[Tensor | None]:
        wanted = [edge is not None and self.is_wanted(edge[0]) for edge in node.edges]
        self.current = node
        try:
            made: Sequence[Tensor | None] = [None] * len(wanted)
            if any(g is not None for g in grads):
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
                    made = gradients_of(result, len(made), hook)
        if not self.keeps:
            if node in self.steps or isinstance(node, CopySlices) and node.step in self.waiting:
                self.late.append(node)
            else:
                node.release()
        return made
