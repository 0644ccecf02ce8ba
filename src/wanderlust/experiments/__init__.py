"""Experiments: describe runs (`run`), store them (`store`), execute (`execute`), compare (`table`) and report them."""
