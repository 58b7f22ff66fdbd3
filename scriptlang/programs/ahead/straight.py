"""Straight graphs of programs and their derivatives: how they are made, cached and called."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ... import budgets
from ...building import alone, uncollected
from ...dtypes import get_default_dtype
from ...interpreter.arguments import bind
from ...interpreter.engine import engine as engine_named
from ...interpreter.gradients import has_tangent
from ...ir import OPTIMIZED, Function, Graph, Value, clone_block, schema_of_graph
from ...objects import ScriptObject
from ...ops import table
from ...ops.calling.current import mode
from ...ops.derivatives.state import alias
from ...passes import fold_weights, fuse_pointwise, peephole, pipeline
from ...passes.ahead import in_place
from ...passes.ahead import values as V
from ...passes.ahead.again import recompute
from ...passes.ahead.joint import Joint, check_scalar
from ...passes.ahead.values import NotStraight
from ...passes.effects import FUSED
from ...passes.shape_facts import Fact, TensorFacts
from ...passes.shapes import propagate
from ...tensors import Tensor
from ..module import ScriptFunction, ScriptMethod, ScriptModule
from .apart import Writes, check_apart
from .kinds import Kinds, Taken, Taped
from .leaves import apart_from, plain
from .quick import Quick
from .report import AheadReport, report_of
from .tape import by_tape

Wrt = int | str | Sequence[int | str] | None


class Ahead:
    """A program with straight graphs, which are made and cached by the kind of its arguments."""

    def __init__(self, program: Any, wrt: Wrt, engine: str) -> None:
        self.program, self.engine = program, engine
        self.owner: Any = program if isinstance(program, ScriptModule) else None
        if self.owner is not None:
            self.function: Function = program._type.methods["forward"]
        else:
            self.owner = program.owner if isinstance(program, ScriptMethod) else None
            self.function = program._function
        self.first: tuple[Any, ...] = () if self.owner is None else (self.owner._object_,)
        self.schema = self.function.schema
        self.budget = self.function.budget
        self.sources: Any = Sources(self, wrt)
        self.kinds = Kinds()
        self.last: Any = None  # the graph that `quick` runs
        self.quick: Quick | None = None

    def remember(self, args: Sequence[Any], values: list[Any], made: Any) -> None:
        """Enable the fast path for calls like this one, if all arguments are tensors or objects."""
        if len(values) == len(args) and all(
            v is a and isinstance(a, (Tensor, ScriptObject)) for v, a in zip(values, args)
        ):
            self.last, self.quick = made, Quick(made, args)

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """All arguments as run-time values."""
        return bind(self.schema, (*self.first, *args), kwargs)

    def found(self, values: list[Any]) -> tuple[Any, list[Any]]:
        """Return (graph or Taped for such arguments, the tensors and floats among them)."""
        taken = Taken(values)
        made = self.kinds.find(taken)
        if made is None:
            made = self.make(taken, values)
        return made, taken.leaves

    @uncollected
    @alone
    def make(self, taken: Taken, values: list[Any]) -> Any:
        def attempt(facts: list[TensorFacts]) -> Any:
            try:
                return self.straight(values, facts)
            except NotStraight as reason:
                return Taped(str(reason))

        with budgets.use(self.budget, self.function.name):
            return self.kinds.add(taken, attempt)

    def straight(self, values: list[Any], facts: list[TensorFacts]) -> Any:
        raise NotImplementedError

    def program_graph(self) -> Graph:
        """The graph of the program, optimised."""
        graph = self.function.graph.copy()
        pipeline.optimize(graph)
        return graph

    def joint(self, values: list[Any], facts: list[TensorFacts]) -> Joint:
        """The straight graph of the program without derivatives."""
        joint = Joint(self.program_graph(), values, facts)
        if self.sources is not None:
            for source in self.sources.arguments(joint.arguments):
                source.active = True
            self.sources.watch(joint)
        joint.run_program()
        return joint

    def why(self, *args: Any, **kwargs: Any) -> str:
        """The reason why calls with such arguments use the tape; "" if they do not."""
        return self.found(self.bound(args, kwargs))[0].reason

    def inspect(self, *args: Any, **kwargs: Any) -> Any:
        """An AheadReport for such arguments: the graphs, what is kept, and what is recomputed."""
        made, _ = self.found(self.bound(args, kwargs))
        return AheadReport(made.reason) if isinstance(made, Taped) else made.report()


class Sources:
    """What a function is differentiated with respect to.

    places: indices of arguments. names: parameters and buffers. order: (is it an argument, its
    index in places or names), in the user's order. kind: "one", "tuple" or "dict"; then it is all
    parameters that require a gradient when `renew` is called.
    """

    def __init__(self, owner: Ahead, wrt: Wrt) -> None:
        self.owner = owner
        module = owner.program if isinstance(owner.program, ScriptModule) else None
        self.known = owner.owner.state_dict() if isinstance(owner.owner, ScriptModule) else {}
        self.kind = "one" if isinstance(wrt, (int, str)) else "tuple"
        self.order: list[tuple[bool, int]] = []
        self.places: list[int] = []
        self.names: list[str] = []
        self.flags: list[tuple[Tensor, bool]] = []
        if wrt is None and module is not None:
            self.kind = "dict"
            self.renew()
            return
        if wrt is None:
            wrt, self.kind = 0, "one"
        for what in [wrt] if isinstance(wrt, (int, str)) else wrt:
            self.add(what)

    def renew(self) -> None:
        """Find the parameters that require a gradient now, if the user has not named some."""
        if self.kind != "dict":
            return
        named = list(self.owner.program._named_tensors("parameter", "", True))
        self.flags = [(t, t._requires_grad) for _, t in named]
        self.names = [n for n, t in named if t._requires_grad]
        self.order = [(False, i) for i in range(len(self.names))]

    def add(self, what: int | str) -> None:
        """Add one argument or parameter. Raises ValueError if it does not exist."""
        owner = self.owner
        arguments = owner.schema.arguments[len(owner.first) :]
        names = [a.name for a in arguments]
        if isinstance(what, str) and what not in names:
            if what not in self.known:
                raise ValueError(
                    f"{owner.function.name} has no argument or parameter {what!r}; its arguments "
                    f"are {', '.join(names)}"
                )
            self.order.append((False, len(self.names)))
            self.names.append(what)
            return
        place = names.index(what) if isinstance(what, str) else what
        if not -len(names) <= place < len(names):
            raise ValueError(f"{owner.function.name} has {len(names)} arguments; wrt is {what}")
        self.order.append((True, len(self.places)))
        self.places.append(place % len(names) + len(owner.first))

    def attributes(self) -> list[tuple[ScriptObject, str]]:
        """The (object, attribute) pairs of the parameters."""
        found = []
        for name in self.names:
            *path, last = name.split(".")
            obj = self.owner.first[0]
            for part in path:
                obj = obj.get(part)
            found.append((obj, last))
        return found

    def tensors(self) -> list[Tensor]:
        """The parameters."""
        return [obj.get(name) for obj, name in self.attributes()]

    def arguments(self, values: Sequence[Any]) -> list[Any]:
        """The tensors of the arguments."""
        return [
            t
            for place in self.places
            for t in V.parts(values[place])
            if isinstance(t, (Tensor, V.Tensor))
        ]

    def watch(self, joint: Joint) -> None:
        """Let the parameters require a gradient when the program reads them."""
        joint.wanted = {id(t) for t in self.tensors()}

    def structured(self, values: Sequence[Any], take: Callable[[Any], Any]) -> Any:
        """The gradients in the structure that the caller gets. take: gets the gradient of a tensor.

        values: the arguments, then a list of the parameters.
        """
        *arguments, parameters = values
        parts = [
            V.mapped(arguments[self.places[i]], take) if is_argument else take(parameters[i])
            for is_argument, i in self.order
        ]
        if self.kind == "dict":
            return dict(zip(self.names, parts))
        return parts[0] if self.kind == "one" else tuple(parts)


class Straight:
    """A straight graph that calls run.

    joint: the graph with the evaluator's facts. template: the result, with Slots for the results of
    the graph. function: runs the graph. is_plain: whether users see results as they are. flags:
    tensors that have to require a gradient, or none.
    """

    reason = ""
    flags: Sequence[tuple[Tensor, bool]] = ()

    def __init__(self, joint: Joint, template: Any, name: str, engine: str) -> None:
        self.joint, self.template = joint, template
        self.graph = joint.graph
        self.take_over()
        facts = {i: joint.facts.get(v) for i, v in enumerate(self.graph.inputs)}
        self.function = runnable(self.graph, name, engine, joint.outputs, facts, len(joint.leaves))
        self.fill = filler(template)
        self.is_plain = is_plain(template)
        self.hands_on = may_hand_on(self.function)

    def take_over(self) -> None:
        """Collect what objects hold and the function gets at each call: tensors, and numbers that
        may change.

        Raises NotStraight if a tensor that is written shares memory with another of them.
        """
        self.default = get_default_dtype()
        everything = [(*slot_of(obj, name), value) for obj, name, value in self.joint.lifted]
        self.numbers = [
            (i, obj, slot)
            for i, (obj, slot, value) in enumerate(everything)
            if type(value) is float
        ]
        self.lifted = [held for held in everything if type(held[2]) is not float]
        self.aliases: list[Any] = [
            value if type(value) is float else alias(value) for _, _, value in everything
        ]
        tensors = [t for _, _, t in self.lifted]
        self.note_writes(tensors)
        storages = [a._storage for a in self.aliases if type(a) is not float]
        self.memory = [
            (t, storage, t._size, t._stride, t._offset, t.dtype)
            for t, storage in zip(tensors, storages)
        ]
        same = [(*slot_of(obj, name), everything[at][2]) for obj, name, at in self.joint.again]
        self.lifted += same
        self.containers = [
            (obj, obj._slot(name), value) for obj, name, value in self.joint.containers
        ]
        self.read = [(obj, obj._slot(name), value) for obj, name, value in self.joint.read]
        self.objects = [(obj, obj._slot(name), found) for obj, name, found in self.joint.objects]

    def note_writes(self, held: Sequence[Tensor]) -> None:
        """Raises NotStraight if a tensor that is written shares memory with another of them."""
        joint = self.joint
        written = joint.written_tensors()
        check_apart(held, written)
        leaves = enumerate(joint.leaves)
        arguments = [i for i, leaf in leaves if isinstance(leaf, V.Tensor) and leaf.writes]
        self.writes = Writes(arguments, held, written) if arguments or written else None
        self.held_ids = set(map(id, held))
        self.turned = [
            i for i, leaf in enumerate(joint.leaves) if any(leaf is t for t in joint.turned)
        ]

    def holds(self) -> bool:
        """Whether all objects still have the attributes that the graph was made for, and the
        default dtype is that."""
        if get_default_dtype() is not self.default:
            return False
        for obj, slot, value in (*self.lifted, *self.objects):
            if obj.slots[slot] is not value:
                return False
        for tensor, storage, size, stride, offset, dtype in self.memory:
            if tensor._storage is not storage or tensor._size != size:
                return False
            if tensor._stride != stride or tensor._offset != offset or tensor.dtype is not dtype:
                return False
        return all(t._requires_grad is flag for t, flag in self.flags) and self.attributes_hold()

    def attributes_hold(self) -> bool:
        """Whether the attributes that are no tensors are as they were."""
        for obj, slot, value in self.containers:
            now = obj.slots[slot]
            if now is not value and not is_alike(now, value):
                return False
        for obj, slot, value in self.read:
            now = obj.slots[slot]
            if now is not value and (type(now) is not type(value) or now != value):
                return False
        return True

    def report(self) -> AheadReport:
        """The parts of the graph, and which values the backward part needs."""
        joint = copy.copy(self.joint)
        env: dict[Any, Any] = {}
        joint.graph = Graph(self.graph.name)
        clone_block(self.graph.block, joint.graph.block, env)
        facts = {env[v]: fact for v, fact in self.joint.facts.facts.items() if v in env}
        joint.facts = copy.copy(joint.facts)
        joint.facts.facts = facts
        pipeline.optimize(joint.graph)
        whole = joint.graph.copy()
        seeds = [env[v] for v in joint.seeds if env[v].node.block is not None]
        return report_of(whole, joint.parted(seeds), facts)

    @property
    def looks_at_arguments(self) -> bool:
        """Whether `takes` may refuse a call."""
        return self.writes is not None or bool(self.turned)

    def takes(self, leaves: Sequence[Any]) -> bool:
        """Whether a call with such arguments gives what the program would: what is written must
        not be memory of another of them, and a tensor that is made to require a gradient must not
        be passed twice, or be one of an object."""
        for i in self.turned:
            x = leaves[i]
            if id(x) in self.held_ids or any(x is y for k, y in enumerate(leaves) if k != i):
                return False
        return self.writes is None or self.writes.are_apart(leaves)

    def run(self, leaves: Sequence[Any]) -> Any:
        for leaf in leaves:
            if type(leaf) is not float and (leaf._autograd is not None or leaf._requires_grad):
                leaves = list(map(plain, leaves))
                break
        held = self.aliases
        if self.numbers:
            held = held.copy()
            for i, obj, slot in self.numbers:
                held[i] = obj.slots[slot]
        results = self.function(*leaves, *held)
        if self.hands_on:
            results = apart_from(held, results)
        return self.fill(results)


def may_hand_on(function: ScriptFunction[..., Any]) -> bool:
    """Whether results of a straight graph may be its arguments themselves, not new tensors."""
    graph = function._function.attributes[OPTIMIZED]
    for v in graph.outputs[0].node.inputs:
        if v.node.kind == FUSED and not v.is_parameter:
            v = v.node.attributes["Subgraph"].outputs[v.node.outputs.index(v)]
        schema = v.node.schema
        if v.is_parameter or schema is None or schema.is_mutable:
            return True
        if table.facts_of(schema).may_share:
            return True
    return False


class Container:
    """A list, tuple or dict in the place of an object: `slots` is it."""

    __slots__ = ("slots",)

    def __init__(self, slots: Any) -> None:
        self.slots = slots


def slot_of(owner: Any, name: Any) -> tuple[Any, Any]:
    """(what has `slots`, which of them): of an attribute, or of an element of a container."""
    if isinstance(owner, ScriptObject):
        return owner, owner._slot(name)
    return Container(owner), name


def is_alike(now: Any, then: Any) -> bool:
    """Whether two values are the same tensors in the same containers; the native engine makes a
    new list at each read."""
    if isinstance(now, Tensor) and isinstance(then, Tensor):
        return now is then or (
            now.data_ptr() == then.data_ptr()
            and (now._size, now.dtype) == (then._size, then.dtype)
            and now.stride() == then.stride()
        )
    if type(now) is not type(then):
        return False
    if isinstance(now, dict):
        return list(now) == list(then) and all(is_alike(now[k], then[k]) for k in now)
    if isinstance(now, (list, tuple)):
        return len(now) == len(then) and all(map(is_alike, now, then))
    return bool(now == then)


class Slot:
    """The position of one result of a graph in a template."""

    def __init__(self, number: int) -> None:
        self.number = number


def is_plain(template: Any) -> bool:
    """Whether a result has no values that become others for users, such as objects and members of
    enums."""
    if type(template) in (list, dict, tuple):
        parts = template.values() if type(template) is dict else template
        return all(map(is_plain, parts))
    return isinstance(template, (Slot, bool, int, float, str)) or template is None


def templated(result: Any) -> tuple[Any, list[Any]]:
    """Return (the result with Slots for what only a run computes, the list of these)."""
    outputs: list[Any] = []

    def slot(part: Any) -> Any:
        if not isinstance(part, (V.Tensor, V.Unknown)):
            return part
        outputs.append(part)
        return Slot(len(outputs) - 1)

    return V.mapped(result, slot), outputs


def filler(template: Any) -> Callable[[Any], Any]:
    """A function that puts results into the Slots. It is generated Python code, which is fast."""
    constants: list[Any] = []

    def text(part: Any) -> str:
        if isinstance(part, Slot):
            return f"results[{part.number}]"
        if type(part) is list:
            return f"[{', '.join(map(text, part))}]"
        if type(part) is dict:
            return f"{{{', '.join(f'{text(k)}: {text(v)}' for k, v in part.items())}}}"
        if type(part) is tuple:
            return f"({''.join(f'{text(p)}, ' for p in part)})"
        if isinstance(part, tuple):
            constants.append(type(part))
            return f"constants[{len(constants) - 1}]({', '.join(map(text, part))})"
        constants.append(part)
        return f"constants[{len(constants) - 1}]"

    made: Callable[[Any], Any] = eval(f"lambda results: {text(template)}", {"constants": constants})
    return made


def runnable(
    graph: Graph,
    name: str,
    engine: str,
    outputs: int | None = None,
    facts: Mapping[int, Fact] | None = None,
    leaves: int = 0,
) -> Any:
    """An optimised ScriptFunction for the graph.

    outputs: how many results belong to the program (the rest are gradients). facts: the facts of
    inputs, by index; if both are given, values are recomputed where that saves memory. leaves: how
    many of the inputs are arguments; the others belong to objects, and may be written in place.
    """
    own = graph.copy()
    pipeline.optimize(own)
    if fold_weights.run(own):
        pipeline.optimize(own)
    peephole.run_unrecorded(own)
    fast = own.copy()
    if outputs is not None and facts is not None:
        recompute(fast, outputs, facts_in(fast, facts))
    if facts is not None:  # after that, since what is computed again reads arguments again
        for made in (own, fast):
            in_place.run(made, made.inputs[leaves:], facts_in(made, facts))
    fuse_pointwise.run(fast)
    if facts is not None:
        in_place.add_products(fast, fast.inputs[leaves:], facts_in(fast, facts))
    function = Function(name, schema_of_graph(name, own), own)
    function.attributes[OPTIMIZED] = fast
    return ScriptFunction(function, engine_named(engine))


def facts_in(graph: Graph, facts: Mapping[int, Fact]) -> Mapping[Value, Fact]:
    """The facts of all values of a graph, given those of its inputs."""
    return propagate(graph, {v: facts[i] for i, v in enumerate(graph.inputs) if i in facts})


class ValueAndGrad(Ahead):
    """The callable that `value_and_grad` returns."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        quick = self.quick
        if quick is not None and len(args) == quick.arity and not (kwargs or mode.levels):
            result = quick.call(*args)
            if result is not NotImplemented:
                return result
        values = self.bound(args, kwargs)
        if mode.levels and has_tangent(values, None):
            return by_tape(self, values)
        made, leaves = self.found(values)
        if isinstance(made, Taped) or not made.takes(leaves):
            return by_tape(self, values)
        self.remember(args, values[len(self.first) :], made)
        return made.run(leaves)

    def found(self, values: list[Any]) -> tuple[Any, list[Any]]:
        self.sources.renew()
        return super().found(values)

    def straight(self, values: list[Any], facts: list[TensorFacts]) -> Straight:
        joint = self.joint(values, facts)
        value = joint.result[0] if isinstance(joint.result, tuple) else joint.result
        check_scalar(joint, value)
        arguments = self.sources.arguments(joint.arguments)
        parameters = [joint.places.get(id(t)) for t in self.sources.tensors()]
        present = [t for t in (*arguments, *parameters) if t is not None]
        if not value.active:
            found: list[Any] = [None] * len(present)
        else:
            found = joint.gradients([value], present, [None])
        grads = {id(t): g for t, g in zip(present, found)}
        gradients = self.sources.structured(
            [*joint.arguments, parameters], lambda t: None if t is None else grads.get(id(t))
        )
        template, outputs = templated((joint.result, gradients))
        own = len(templated(joint.result)[1])
        joint.close(outputs[:own], outputs[own:])
        made = Straight(joint, template, f"{self.function.name}_and_grad", self.engine)
        made.flags = self.sources.flags
        return made

    def __repr__(self) -> str:
        return f"<value_and_grad of {self.function.schema}>"
