"""Cases from the field: faults that users of stores of this kind really met, each with its number."""
