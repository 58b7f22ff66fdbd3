"""Measurements of scriptlang against its peers: `python -m benchmarks --help`.

workloads   what is measured, with its inputs
vision, sequence, layers, operators, loops   the programs
prepare     builds them with PyTorch: archives and .onnx files
candidates  how scriptlang and each peer runs a workload
rows        which candidates meet in which row
harness, worker   interleaved timing of processes that each hold one candidate
machine     the processor and what one core of it can do
processes   whole processes: time, memory, size
report      text and the HTML page

one_by_one  expressions of few operators against torch.jit, in one process:
            `python -m benchmarks.one_by_one --help`; expressions has them
"""
