"""Small files of the texts of pre-training, which a cache serves as if they were the true ones."""

import io
import zipfile

# A sentence that stands in test and, otherwise written, in "subj", so that it can be left out.
SHARED = "a fine film , it says"
SUBJ = "".join(f"{k % 2} {'dull' if k % 2 == 0 else 'the hero'} number{k} of the film . \n" for k in range(60))
SUBJ = SUBJ.encode("latin-1") + f"0 {SHARED.title()} !\n0 café de la paix .\n".encode("latin-1")
SST2 = {
    "train": "1 a good film .\n0 a bad film .\n0 not good\n1 not bad , a film\n",
    "dev": "0 a bad film .\n1 good film\n",
    "test": f"0 bad\n1 {SHARED}\n",
}
TREC = {
    "train": "".join(f"{k % 6} Who is number {k} ?\n" for k in range(60)) + "0 What is an \u00f0 ?\n",
    "test": "3 Who was Galileo ?\n0 What is an atom ?\n",
}
PTB = {"train": " the cat N \n\n a <unk> sat \n", "valid": " a cat \n", "test": " the end \n"}
CONLL2000 = {
    "train": "He PRP B-NP\nreckons VBZ B-VP\nthe DT B-NP\ndeficit NN I-NP\n. . O\n\n"
    + "".join(f"Number{k % 9} NNP B-NP\n" + "fell VBD B-VP\n" * (1 + k % 4) + "\n" for k in range(30)),
    "test": "Rockwell NNP B-NP\nfell VBP B-VP\nwill MD I-VP\n! . O\n\nfell VBD B-VP\n\n",
}
UD = """# newdoc id = one
# text = It's him.
1-2	It's	_	_	_	_	_	_	_	_
1	It	it	PRON	PRP	_	3	nsubj	_	_
2	's	be	AUX	VBZ	_	3	cop	_	_
3	him	he	PRON	PRP	_	0	root	_	_
3.1	was	be	AUX	VBD	_	_	_	_	_
4	.	.	PUNCT	.	_	3	punct	_	_

# text = Go
1	Go	go	VERB	VB	_	0	root	_	_

"""
MASC = {
    "masc_tagged/categories.txt": "written/a.txt email\n",
    "masc_tagged/written/a.txt": "I_PRP see_VBP D. C._NNP ._.\n\n \nwell_UH _- so_RB\n",
    **{f"masc_tagged/spoken/{k}.txt": f"number{k}_NN speaks_VBZ\nbye_UH\n" for k in range(30)},
}
WIKITEXT = {
    "valid": " \n = First = \n \n The 3 @,@ 000 cats sat . They <unk> ! \n = not a heading = \n \n = = Part = = \n \n"
    " So ? Yes \n",
    "test": "".join(f" \n = Article {k} = \n \n Number {k} is a number . It is @-@ so . \n" for k in range(30)),
}


def interest(count: int = 40) -> str:
    """Sentences in which a number decides the sense."""
    rows = []
    for k in range(count):
        words = [f'<wf pos="NN">number{k}</wf>', '<head> <wf pos="NN">interest</wf></head>', '<wf pos="CC">&amp;</wf>']
        before = [f'<wf pos="DT">w{j}</wf>' for j in range(k % 7)]
        context = " ".join(before + words)
        answer = f'<answer instance="i{k}" senseid="interest_{1 + k % 2}"/>'
        rows.append(f'<instance id="i{k}">\n{answer}\n<context>\n {context} \n</context>\n</instance>\n')
    return "".join(rows)


def zipped(parts: dict[str, str]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return buffer.getvalue()


def conllu(count: int = 20) -> str:
    """Documents of a sentence each, some of the same words."""
    found = [UD]
    for k in range(count):
        words = [("number", "NOUN"), (f"is{k % 5}", "VERB"), *[("very", "ADV")] * (k % 4), (f"w{k}", "ADJ")]
        lines = [f"{place}\t{word}\t_\t{tag}\t_\t_\n" for place, (word, tag) in enumerate(words, start=1)]
        found.append(f"# newdoc id = d{k}\n{''.join(lines)}\n")
    return "".join(found)


def corpora() -> dict[str, bytes]:
    """All files."""
    return {
        "subj/subj.all": SUBJ,
        **{f"sst2/stsa.binary.{part}": text.encode() for part, text in SST2.items()},
        **{f"trec/TREC.{part}.all": text.encode("latin-1") for part, text in TREC.items()},
        **{f"ptb.{part}.txt": text.encode() for part, text in PTB.items()},
        "conll2000/conll2000.zip": zipped({f"conll2000/{part}.txt": text for part, text in CONLL2000.items()}),
        "ud_ewt/en_ewt-ud-dev.conllu": conllu().encode(),
        "ud_ewt/en_ewt-ud-test.conllu": UD.encode(),
        "masc/masc_tagged.zip": zipped(MASC),
        **{f"wikitext2/{part}.txt": text.encode() for part, text in WIKITEXT.items()},
        "senseval/senseval.zip": zipped({"senseval/interest.pos": interest()}),
    }
