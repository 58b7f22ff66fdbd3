"""Pictures of programs: drawings of graphs, HTML pages of models, output for notebooks."""
