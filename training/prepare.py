"""Corpus to vocabulary and piece numbers: everything the training reads.

    python -m training.prepare --corpus CORPUS --data DATA

CORPUS holds one `NAME.txt.xz` a source, a sentence or short chunk a line, and `heldout.txt.xz`, which is never read
here. DATA gets

    heldout_public.txt   200 lines of the public-domain and CC0 sources, taken out of the training
    vocab.txt            16,000 pieces, one a line
    pieces.npy           uint16, the pieces of all lines one after another
    lengths.npy          uint8, how many of them each line has (at most 126: the window less [CLS] and [SEP])

The vocabulary is WordPiece, then tidied: the trainer spends 2,900 of 16,000 entries on fragments such as 'divis' that
are neither a word nor a continuation. A masked position may be filled by whole words only, so those entries, and the
continuations used least, go to the most frequent words instead (one piece is enough for 91.0% of the words in running
text before, 93.1% after).
"""

import argparse
import hashlib
import lzma
from collections import Counter
from collections.abc import Iterable, Iterator
from multiprocessing import Pool
from pathlib import Path

import numpy as np

from training.wordpiece import SPECIALS, Vocabulary, fold, split_words

PUBLIC_HELD_OUT = {"common_voice_en": 80, "novels_pd": 80, "speeches_pd": 40}
"""Lines held out of each public-domain or CC0 source, for the tests of the package."""
HELD_OUT_LENGTHS = range(40, 281)
VOCABULARY_SIZE = 16_000
N_CONTINUATIONS = 1_595
"""Leaves 14,400 whole words, a number with many divisors: the exported model looks for words group by group."""
N_CHARACTERS = 150
WINDOW = 126
LINES_A_CHUNK = 10_000


def prepare(corpus: Path, data: Path, processes: int) -> None:
    """Writes the files named above; the same corpus gives the same files."""
    data.mkdir(parents=True, exist_ok=True)
    sources = {path.name.removesuffix(".txt.xz"): path for path in sorted(corpus.glob("*.txt.xz"))}
    del sources["heldout"]
    lines = {name: read_lines(path) for name, path in sources.items()}
    held_out = hold_out(lines)
    (data / "heldout_public.txt").write_text("".join(f"{line}\n" for line in held_out), encoding="utf-8")
    chunks = list(cut_chunks(lines, set(held_out)))
    with Pool(processes) as pool:
        vocabulary = build_vocabulary(merge_counts(pool.imap_unordered(count_words, chunks)))
        vocabulary.write(data / "vocab.txt")
        encoded = pool.starmap(encode_lines, ((chunk, vocabulary) for chunk in chunks), chunksize=1)
    np.save(data / "pieces.npy", np.concatenate([pieces for pieces, _ in encoded]))
    np.save(data / "lengths.npy", np.concatenate([lengths for _, lengths in encoded]))


def read_lines(path: Path) -> list[str]:
    """The lines of a compressed text, without line ends."""
    return lzma.decompress(path.read_bytes()).decode("utf-8").removesuffix("\n").split("\n")


def hold_out(lines: dict[str, list[str]]) -> list[str]:
    """The public held-out lines: of each source, those of middling length with the smallest hash."""
    chosen: list[str] = []
    for name, n_lines in PUBLIC_HELD_OUT.items():
        candidates = [line for line in lines[name] if len(line) in HELD_OUT_LENGTHS]
        chosen += sorted(candidates, key=lambda line: hashlib.sha256(line.encode()).digest())[:n_lines]
    return chosen


def cut_chunks(lines: dict[str, list[str]], held_out: set[str]) -> Iterator[list[str]]:
    """All lines but the held-out ones, in order, in chunks for the workers."""
    kept = [line for source in lines.values() for line in source if line not in held_out]
    for start in range(0, len(kept), LINES_A_CHUNK):
        yield kept[start : start + LINES_A_CHUNK]


def count_words(lines: list[str]) -> Counter[str]:
    """How often each folded word occurs."""
    return Counter(fold(word) for line in lines for word in split_words(line))


def merge_counts(counts: Iterable[Counter[str]]) -> Counter[str]:
    """The sum, words in order of frequency, then of the alphabet (so that no worker's speed matters)."""
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    return Counter(dict(sorted(total.items(), key=lambda item: (-item[1], item[0]))))


def build_vocabulary(counts: Counter[str]) -> Vocabulary:
    """Specials, characters, the most frequent words and the continuations used most."""
    trained = train_wordpiece(counts)
    characters = sorted(piece for piece in trained if len(piece) == 1)
    used = count_continuations(counts, Vocabulary((*SPECIALS, *trained)))
    continuations = sorted({f"##{character}" for character in characters} & set(trained))
    n_longer = N_CONTINUATIONS - len(continuations)
    continuations += [piece for piece, _ in used.most_common() if len(piece) > len("##x")][:n_longer]
    n_words = VOCABULARY_SIZE - len(SPECIALS) - len(continuations)
    alphabet = set(characters)
    words = dict.fromkeys(characters)
    for word in counts:
        if len(words) == n_words:
            break
        if alphabet.issuperset(word):
            words.setdefault(word)
    return Vocabulary((*SPECIALS, *words, *continuations))


def train_wordpiece(counts: Counter[str]) -> list[str]:
    """The pieces of a plain WordPiece vocabulary over these words, without specials."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.pre_tokenizers import WhitespaceSplit
    from tokenizers.trainers import WordPieceTrainer

    tokenizer = Tokenizer(WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    trainer = WordPieceTrainer(
        vocab_size=VOCABULARY_SIZE,
        limit_alphabet=N_CHARACTERS,
        special_tokens=list(SPECIALS),
        show_progress=False,
    )
    tokenizer.train_from_iterator(repeat_words(counts), trainer)
    return sorted(set(tokenizer.get_vocab()) - set(SPECIALS))


def repeat_words(counts: Counter[str], most: int = 1000) -> Iterator[str]:
    """Texts in which each word stands as often as it was counted.

    >>> list(repeat_words(Counter(a=3, b=1), most=2))
    ['a a', 'a', 'b']
    """
    for word, count in counts.items():
        for start in range(0, count, most):
            yield " ".join([word] * min(most, count - start))


def count_continuations(counts: Counter[str], vocabulary: Vocabulary) -> Counter[str]:
    """How often each continuing piece is used when all words are cut."""
    used: Counter[str] = Counter()
    for word, count in counts.items():
        for number in vocabulary.encode(word)[1:]:
            used[vocabulary.pieces[number]] += count
    return Counter(dict(sorted(used.items(), key=lambda item: (-item[1], item[0]))))


def encode_lines(lines: list[str], vocabulary: Vocabulary) -> tuple[np.ndarray, np.ndarray]:
    """Pieces of all lines one after another, and the length of each line; long lines are cut between words."""
    pieces: list[int] = []
    lengths: list[int] = []
    known: dict[str, tuple[int, ...]] = {}
    for line in lines:
        lengths.append(0)
        for word in split_words(line):
            if word not in known:
                known[word] = vocabulary.encode(fold(word))[:WINDOW]
            numbers = known[word]
            if lengths[-1] + len(numbers) > WINDOW:
                lengths.append(0)
            pieces.extend(numbers)
            lengths[-1] += len(numbers)
    return np.array(pieces, np.uint16), np.array(lengths, np.uint8)


def main() -> None:
    """Reads the arguments and prepares."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--processes", type=int, default=2)
    arguments = parser.parse_args()
    prepare(arguments.corpus, arguments.data, arguments.processes)


if __name__ == "__main__":
    main()
