"""Tables, figures and reports of stored runs."""
