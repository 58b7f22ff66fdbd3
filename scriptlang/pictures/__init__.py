"""Pictures of programs: drawings of graphs, pages that show a model, what notebooks show."""
