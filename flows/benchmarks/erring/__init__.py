"""Programs worked on by a model that errs at a known rate: what an agent does about it, and what it does not notice."""
