"""What a sentence of the book rests on: proofs, findings with their rate, and claims with their verdict.

A *proof* is exact, an ``assert``, and stops a build. A *finding* is what a training showed. It never stops a build;
it says whether it held here, and in how many runs of the replication study it did.

A chapter makes one object and asks it for everything::

    evidence = Evidence("vanishing_gradients", profile, seed, device)
    evidence.finding("gradients-wall", "Over 100 steps the tanh network learns nothing.", mse, "> 0.15")
    evidence.audit()
"""

from rtx_book.claims.findings import Bound, Finding
from rtx_book.claims.page import Evidence
