"""Experiments: describe runs (`run`), execute (`runner`) and store them (`store`), reproduce the paper (`paper`)."""
