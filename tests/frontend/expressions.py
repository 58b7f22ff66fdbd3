"""Expressions and statements of the language, as data for tests.

TABLES maps names to (parameters, bodies, tuples of arguments).  A body is an expression, or
statements separated by `;`, of which the last is the expression that is returned.
`python -m tests.frontend.record_expressions` writes PyTorch's results to expressions.json.
"""

from __future__ import annotations

Table = tuple[str, list[str], list[tuple]]

STRINGS: Table = (
    "s: str",
    """
s.upper() | s.lower() | s.capitalize() | s.title() | s.swapcase() | s.strip() | s.lstrip()
s.rstrip() | s.strip('a') | s.lstrip('ab') | s.rstrip('b ') | s.split() | s.split(' ')
s.split(',') | s.split(',', 1) | s.rsplit(',') | s.rsplit(',', 1) | s.splitlines()
s.splitlines(True) | s.partition(',') | s.rpartition(',') | s.find('a') | s.rfind('a')
s.index('b') | s.rindex('b') | s.count('a') | s.startswith('a') | s.endswith('b')
s.replace('a', 'xx') | s.replace('a', 'xx', 1) | s.isalnum() | s.isalpha() | s.isdigit()
s.isdecimal() | s.isnumeric() | s.islower() | s.isupper() | s.isspace() | s.istitle()
s.isprintable() | s.center(10) | s.center(9, '*') | s.ljust(8) | s.rjust(8, '-') | s.zfill(8)
s.expandtabs() | s.expandtabs(4) | s.join(['a', 'b', 'c']) | s + s | s < 'b' | s <= 'ab'
s > 'a' | s >= 'b' | s == 'ab' | s != 'ab' | len(s) | s[1:3] | s[:-1] | 'x' in s | list(s)
s.join(s.split(',')) | sorted(list(s)) | [c for c in s] | str(s) | bool(s) | not s | s and 'x'
'%s' % s | f'{s}' | s.split(sep=',') | s[::2] | s[::-1] | s.join([]) | int(s) | float(s)
s.casefold() | s.encode() | s * 2 | s - s | s.foo | s.startswith(('a', 'b')) | s.isascii()
""".replace("\n", "|").split("|"),
    [("ab",), ("",), ("a,b,,c",), (" Hello World\n\tx ",), ("-12",)],
)

LISTS: Table = (
    "x: List[int]",
    """
len(x) | x.count(1) | x.copy() | x + [9] | x * 2 | 2 * x | x == [1, 2] | x != [1, 2] | 1 in x
3 not in x | sum(x) | sorted(x) | any(x) | all(x) | list(x) | x[-1] | x[5] | x[1:] | x[::2]
x[::-1] | x[-100:100] | str(x) | bool(x) | torch.tensor(x) | [float(i) for i in x] | x and x
x.append(7); x | x.extend([7, 8]); x | x.insert(0, 7); x | x.insert(-1, 7); x | x.pop(); x
x.pop(0); x | x.remove(2); x | x.reverse(); x | x.clear(); x | x.sort(); x
x.sort(reverse=True); x | x += [1]; x | x *= 2; x | x[0] = 5; x | x[9] = 5; x | x[0] += 5; x
del x[0]; x | del x[-1]; x | x.extend((1, 2)); x | print(x); 0 | x.append('a'); x | x -= [1]; x
x.append(1.5); x | x.extend(['a']); x | x[0:1] = [5, 6]; x | x[0] = 1.5; x | x.sort(True); x
x.sort(key=lambda i: -i); x | x['a'] | x[1.0] | x.foo() | x @ x | x - x | -x | abs(x) | x[slice(1)]
x[slice(0, None, 2)] | s = slice(1, 3); x[s] | x[slice(1, stop=2)] | slice(1)
""".replace("\n", "|").split("|"),
    [([1, 2],), ([3, 1, 2, 2],), ([],)],
)

DICTS: Table = (
    "d: Dict[str, int]",
    """
len(d) | d['a'] | d.get('z') | d.get('a', 5) | d.get('z', 5) | d.keys() | d.values() | d.items()
'a' in d | 'z' not in d | d.copy() | list(d) | list(d.items()) | dict(d) | str(d) | bool(d)
d == d | sorted(d.keys()) | [k for k in d] | {k: v + 1 for k, v in d.items()} | sum(d.values())
d.pop('a') | d.pop('z', 3) | d.setdefault('z', 9) | d.popitem() | d['c'] = 5; d | d['a'] += 5; d
del d['a']; d | d.clear(); d | d.update({'q': 1}); d | d['x'] = d['y'] = 3; d
d['a'] = 1.5; d | d[1] = 2; d | d.get(1) | d.has_key('a') | d | d.update({1: 2}); d
dict(zip(['p', 'q'], [1, 2])) | dict([('a', 1)], b=2) | print(d); 0 | list(d.values())[0]
""".replace("\n", "|").split("|"),
    [({"a": 1, "b": 2},), ({},)],
)

INTS: Table = (
    "a: int, b: int",
    """
a + b | a - b | a * b | a / b | a // b | a ** b | a << b | a >> b | a & b | a | a ^ b | a < b
a <= b | a == b | a != b | a and b | a or b | -a | ~a | abs(a) | float(a) | bool(a) | str(a)
hex(a) | oct(a) | bin(a) | min(a, b) | max(a, b) | divmod(a, b) | pow(a, b)
math.sqrt(abs(a)) | math.gcd(a, b) | a < b < 3 | '%d %s' % (a, b) | a if a > b else b | +a
math.remainder(a, b) | range(a) | [a, b] | (a, b) | a.real | a.bit_length() | len(a) | a in b
print(a, b); a
""".replace("\n", "|").split("|"),
    [(7, 2), (-7, 2), (7, -3), (2**62, 3)],
)

FLOATS: Table = (
    "a: float, b: float",
    """
a + b | a - b | a * b | a / b | a // b | a % b | a ** b | a < b | a == b | abs(a) | int(a)
str(a) | '{} {}'.format(a, b) | '%f %e %s %d' % (a, a, a, a) | min(a, b) | max(a, b) | round(a)
math.floor(a) | math.ceil(a) | math.exp(b) | math.atan2(a, b) | math.fmod(a, b) | divmod(a, b)
math.copysign(a, b) | math.isnan(a) | math.degrees(a) | math.hypot(a, b) | torch.tensor(a) | a & b
complex(a, b) | bool(a) | math.log1p(b) | math.erf(a) | a << b | a.is_integer() | print(a, [b]); 0
""".replace("\n", "|").split("|"),
    [(7.5, 2.0), (-7.5, 2.0), (1e17, 0.5), (123456.789, 3.0)],
)

COMPLEX: Table = (
    "a: complex, b: complex",
    """
a + b | a - b | a * b | a / b | a ** b | a == b | a != b | abs(a) | a.real | a.imag | -a | str(a)
cmath.exp(a) | cmath.sqrt(a) | cmath.log(a) | cmath.sin(a) | cmath.phase(a) | cmath.tanh(b)
[a, b] | {a: 1}[a] | cmath.isnan(a) | a + 1 | a * 2.5 | print(a, [b]); 0 | a.foo | ~a | cmath.infj
""".replace("\n", "|").split("|"),
    [(1 + 2j, 3 - 1j), (-0.5j, 2 + 0j)],
)

TABLES: dict[str, Table] = {
    "strings": STRINGS,
    "lists": LISTS,
    "dicts": DICTS,
    "ints": INTS,
    "floats": FLOATS,
    "complex": COMPLEX,
}


def bodies(table: Table) -> list[str]:
    """The entries of a table."""
    return list(dict.fromkeys(body.strip() for body in table[1] if body.strip()))


def function_text(parameters: str, body: str) -> str:
    """The source of a function `f` of an entry."""
    *statements, result = (part.strip() for part in body.split(";"))
    lines = [*statements, f"return {result}"]
    return f"def f({parameters}):\n" + "".join(f"    {line}\n" for line in lines)


def text_of(value) -> str:
    """A result as it is recorded: types are told apart, floats keep six digits."""
    if isinstance(value, (list, tuple)):
        inside = ", ".join(map(text_of, value))
        return f"[{inside}]" if isinstance(value, list) else f"({inside})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{text_of(k)}: {text_of(v)}" for k, v in value.items()) + "}"
    if isinstance(value, float):
        return f"{value:.6g}f"
    if isinstance(value, complex):
        real, imag = (round(x, 9) + 0.0 for x in (value.real, value.imag))
        return f"complex({real:.6g}, {imag:.6g})"
    if hasattr(value, "tolist"):
        return f"{str(value.dtype).rpartition('.')[2]} {text_of(value.tolist())}"
    return repr(value)
