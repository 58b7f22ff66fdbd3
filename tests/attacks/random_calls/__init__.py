"""Random calls of every operator, on the engines and PyTorch: they may raise, not crash or differ.

    python -m tests.attacks.random_calls --calls 500 --overloads 'aten::conv*' --engines \
        native,python,torch

A call is an overload and arguments that its schema allows: some plausible (like a test's sample, or
guessed by the names of arguments), some that nobody would write.  It follows from the seed, the
overload and its number alone, and can be written in one line, which `--call` runs again:

    aten::relu(T('float32', (2, 3), (1, 2), 0, 6, 'plain', 17))

values.py says what that means.  Each engine runs in processes of its own (worker.py): what crashes,
hangs or takes too much memory costs one call.  compare.py compares what is left; `known.txt` lists
the differences that are decided, with the reason.
"""
