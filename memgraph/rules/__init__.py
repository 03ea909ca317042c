"""Pure functions of values and a given now; every number of the product lives here."""
