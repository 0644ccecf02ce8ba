"""The paper's experiments: runs described (`run`), kept (`store`), made (`runner`) and gathered (`studies`)."""
