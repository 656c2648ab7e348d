"""Headers as Doxygen wants them. A comment above a declaration, or behind it, becomes the declaration's words; the headers
themselves keep their plain //."""
import re

CODE_MARKS = re.compile(r"[;{}]|//|->|=")
# Words that begin a sentence and are classes too; here the word is meant.
PLAIN_WORDS = re.compile(r"(^|[.:;] )(?=(?:Course|Graph|Input|Interval|Lanes|Lengths|Operation|Outputs|Progress|Ranks|Reading|Records|"
                         r"Resets|Sample|Scope|Shard|Steps|Training|Value|Wave|Window)\b)")
FULL_STOP = re.compile(r"\b(al|e\.g|i\.e)\.(?: |$)")  # that ends no sentence


def without_texts(line):
    """A line without its strings and comments: the characters that build the program's structure."""
    return re.sub(r'"(?:\\.|[^"\\])*"|\'(?:\\.|[^\'\\])\'', '""', line).split("//")[0]


def comment_of(line):
    """(code, comment) of a line; the comment is None where it has none."""
    bare = re.sub(r'"(?:\\.|[^"\\])*"', lambda text: "_" * len(text[0]), line)
    at = bare.find("//")
    return (line, None) if at < 0 else (line[:at].rstrip(), line[at + 2:])


def escaped(text):
    """Words as Doxygen shows them, character by character; what stands in backticks stays."""
    parts = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"[\\@&$#<>%*~\"|]", lambda found: "\\" + found[0], parts[i])
        parts[i] = PLAIN_WORDS.sub(r"\1%", parts[i])
        parts[i] = FULL_STOP.sub(r"\1.\\ ", parts[i])
    return "".join(parts)


def words(lines):
    """A comment's lines in Doxygen's form: what is indented further stands as it is, in a block."""
    result, block = [], []

    def end_block():
        if block:
            kind = "{.cpp}" if any(CODE_MARKS.search(line) for line in block) else "{.unparsed}"
            result.extend([rf"\code{kind}", *block, r"\endcode"])
            block.clear()

    for line in lines:
        if re.match(r" {2,}\S", line) or (block and not line.strip()):
            block.append(line[1:])
            continue
        end_block()
        item = re.match(r"( ?\* )(.*)", line)
        text = re.sub(r"^([-+]) ", r"\\\1 ", line.strip())
        result.append(f"* {escaped(item[2])}" if item else escaped(text))
    while block and not block[-1].strip():
        block.pop()
    end_block()
    return result


def name_of(statement):
    """The name that a statement declares; "" if there is none to be seen."""
    text = re.sub(r"^template <.*?>(?= *(?:requires|[a-z_A-Z]))", "", statement).strip()
    found = re.match(r"(?:enum class|enum|class|struct|union|using|concept|namespace)\s+(\w+)", text)
    found = found or re.search(r"(operator\s*(?:\(\)|[^\s(]+)|~?\w+)\s*\(", text) or re.search(r"(\w+)(?:\[\w*\])?\s*(?:[={;,]|$)", text)
    return found[1] if found else ""


class Twin(str):
    """A variable that stood in one line with the one before it, and has the same words."""


def one_a_line(lines):
    """"double beta1 = 0.9, beta2 = 0.99;  // words" as a line for each, since both have the words."""
    for line in lines:
        code, comment = comment_of(line)
        several = re.match(r"( *(?:mutable |const |static |constexpr |inline )*[\w:]+(?:<[^()]*>)?[*&]?) "
                           r"((?:\w+(?: = [^,;(){}]+| = \{\})?, )+\w+(?: = [^,;(){}]+| = \{\})?);$", code)
        if several is None or several[1].strip() in ("return", "using"):
            yield line
            continue
        for place, each in enumerate(several[2].split(", ")):
            yield (Twin if place else str)(f"{several[1]} {each};" + (f"  //{comment}" if comment else ""))


class Header:
    """Goes through one header, line by line, and knows in which scope each line stands."""

    def __init__(self, path, topic, extra):
        self.topic, self.extra = topic, extra  # extra(class name): lines for the end of its words
        self.lines = list(one_a_line(path.read_text().splitlines()))
        self.out, self.scopes, self.statement, self.done = [], [], "", False
        self.run, self.said_last = None, None  # (name, words, depth) of the declaration above, until a blank line
        self.open_part = []  # depths at which a part "// --- … ---" has begun
        self.path = path

    def inside_declarations(self):
        return all(kind in ("namespace", "class", "enum") for kind, _ in self.scopes)

    def begins_statement(self):
        return self.inside_declarations() and not self.statement.strip()

    def follow(self, line):
        """Keeps track of braces, and of where a statement ends."""
        code = without_texts(line)
        if code.lstrip().startswith("#"):
            return
        for token in re.split(r"([{};]|\b(?:public|private|protected):)", code):
            if token == "{":
                head = re.sub(r"\btemplate\s*<.*?>\s*(?=(?:requires|class|struct|union)\b)", "", self.statement).strip()
                head = re.sub(r"^requires .*?(?=\b(?:class|struct) \w+ )", "", head)
                kind = re.match(r"(?:typedef |extern )?(namespace|class|struct|union|enum)\b", head)
                kind = {"struct": "class", "union": "class", None: "code"}.get(kind and kind[1], kind and kind[1])
                if kind == "class" and "(" in re.sub(r"alignas\(\w+\)", "", head):
                    kind = "code"
                self.scopes.append((kind, self.statement))
                self.statement = ""
            elif token == "}":
                kind, head = self.scopes.pop() if self.scopes else ("code", "")
                # A body ends a function; a list of values does not end a variable, nor an enumeration's names its variable.
                ends = kind == "namespace" or (kind == "code" and ")" in head and "=" not in head.split(")")[-1])
                self.statement = "" if ends else head + "{}"
            elif token == ";":
                if self.inside_declarations():
                    self.statement = ""
                else:
                    self.statement += token
            elif token.endswith(":") and token[:-1] in ("public", "private", "protected"):
                self.statement = ""
            elif self.scopes and self.scopes[-1][0] == "enum":
                self.statement = token.rpartition(",")[2] if "," in token else self.statement + token
            else:
                self.statement += token + " " if token.strip() else ""

    def transformed(self):
        begin = 0
        while begin < len(self.lines) and self.lines[begin].startswith("//"):
            begin += 1
        top = [line[2:] for line in self.lines[:begin]]
        self.top, self.main_class = top, self.largest_class()
        self.out += [r"/// \file", *(f"/// {line}" for line in words(top)), "///", rf"/// \ingroup {self.topic}", ""]
        at, lines = begin, self.lines
        while at < len(lines):
            if not self.scopes and self.done:  # what follows is another library's namespace
                break
            line = lines[at]
            indent, rest = re.match(r"( *)(.*)", line).groups()
            if not rest:
                self.run = None
            if rest.startswith("//") and self.begins_statement():
                end = at
                while end < len(lines) and lines[end].strip().startswith("//") and not self.is_part(lines[end], end > at):
                    end += 1
                at = self.comment(indent, at, end)
                continue
            if rest and self.begins_statement() and not re.match(r"[#}]|(public|private|protected):", rest):
                at = self.declaration(indent, at)
                continue
            self.code_line(line, rest)
            at += 1
        return "\n".join(self.out) + "\n"

    @staticmethod
    def is_part(line, check):
        return check and re.match(r" *// ---", line)

    def code_line(self, line, rest):
        if rest.startswith("}") and self.open_part and self.open_part[-1] == len(self.scopes):
            self.out.append("///@}")
            self.open_part.pop()
        closes_topic = rest == "}  // namespace unroll"
        if closes_topic:
            self.out.append("/// @}")
            self.done = True
        depth = len(self.scopes)
        self.follow(line)
        self.out.append(self.with_words_behind(line, rest.startswith("}") and not self.inside_function(depth)))
        if rest == "namespace unroll {":
            self.out += ["", rf"/// \addtogroup {self.topic}", "/// @{"]

    def inside_function(self, depth):
        return len(self.scopes) < depth and not self.inside_declarations()

    def with_words_behind(self, line, closes=False):
        """A line with its comment as words of what it declares. A comment inside a function stays one."""
        code, comment = comment_of(line)
        said = ""
        forward = re.match(r" *(?:struct|class) \w+;$", code)  # its comment names a header
        if comment is not None and code.strip() and not forward and self.ends_declaration(code) and (not closes or "namespace" not in comment):
            said = f"  ///< {' '.join(words([comment]))}"
        return f"{code}{said}" if said else line

    def ends_declaration(self, code):
        if not self.inside_declarations():
            return False
        return bool(self.scopes) and self.scopes[-1][0] == "enum" or code.rstrip().endswith((";", "}"))

    def comment(self, indent, begin, end):
        lines = self.lines
        part = re.match(r" *// -+ *([^-].*?) *-*$", lines[begin])
        if part and "---" in lines[begin]:
            if self.open_part and self.open_part[-1] == len(self.scopes):
                self.out.append("///@}")
                self.open_part.pop()
            said = []
            if end > begin + 1 and (end == len(lines) or not lines[end].strip()):  # words of the part, not of a declaration
                said = [line.strip()[2:] for line in lines[begin + 1:end]]
            title = part[1].split(":")[0].capitalize()
            if self.scopes[-1][0] == "class":
                self.out += [rf"/// \name {title}", *(f"/// {line}" for line in words(said)), "///@{", ""]
            else:  # a topic of its own below the header's
                slug = re.sub(r"\W+", "_", f"{self.topic} {self.path.stem} {title}".lower())
                self.out += [rf"/// \addtogroup {slug} {escaped(title)}", *(f"/// {line}" for line in words(said)), "///@{", ""]
            self.open_part.append(len(self.scopes))
            return end if said else begin + 1
        said = [line.strip()[2:] for line in lines[begin:end]]
        if end == len(lines) or not lines[end].strip() or lines[end].strip().startswith(("}", "#", "//")):
            self.out += lines[begin:end]  # of nothing in particular
            return end
        return self.declaration(indent, end, said)

    def statement_lines(self, at):
        """Where the declaration that begins at a line has its first { or ;, and all lines up to there."""
        end = at
        while end < len(self.lines) and not re.search(r"[{;]|,$", without_texts(self.lines[end])):
            end += 1
        return [without_texts(line) for line in self.lines[at:end + 1]]

    def declaration(self, indent, at, said=None):
        text = " ".join(line.strip() for line in self.statement_lines(at))
        name = name_of(text)
        own = said is not None
        if re.search(r"\) *(const)? *&& *(= delete)?|= delete;|^extern template|^friend\b", text.split("{")[0] if "= delete" not in text else text):
            return self.skip_statement(at, own and (name, said, len(self.scopes)))
        both_operators = bool(self.run) and self.run[0].startswith("operator") and name.startswith("operator")
        if isinstance(self.lines[at], Twin):
            said = self.said_last
        elif text.endswith("= default;"):  # it does what any such function does
            pass
        elif not own and self.run and self.run[2] == len(self.scopes) and (both_operators or name == self.run[0] or re.search(rf"\b{re.escape(name)}\b", " ".join(self.run[1]))):
            said = self.run[1]
        elif own:
            self.run = (name, said, len(self.scopes))
        last = at + len(self.statement_lines(at)) - 1
        if said is None and last > at and without_texts(self.lines[last]).rstrip().endswith("{"):
            self.lines[last], behind = comment_of(self.lines[last])  # words of a function or a class, behind its {
            said = behind and [behind]
        code, behind = comment_of(self.lines[at])
        if behind is not None and name.startswith("operator"):
            self.run = (name, [behind], len(self.scopes))
        # "struct Sizes {  // tokens"; "enum class Level { word, character };  // of a text"
        if said is None and behind is not None and (not self.ends_declaration(code) or re.match(r" *enum .*\};$", code)):
            said = [behind]
            self.lines[at] = code
        self.said_last = said
        is_class = re.match(r"(template <.*> *)?(requires .*? )?(class|struct) \w+[^;]*\{", text) and not text.startswith("enum")
        result = words(said) if said else self.words_of_class(name) if is_class else []
        more = self.extra(name, text, bool(is_class))
        if result or more:
            self.out += [f"{indent}/// {line}".rstrip() for line in [*result, *more]]
        # Words behind a declaration that go on in lines of their own.
        follow_on = last + 1
        column = self.lines[last].find("//")
        code, behind = comment_of(self.lines[last])
        if behind is not None and self.ends_declaration(code):
            while follow_on < len(self.lines) and re.match(rf" {{{max(column - 2, len(indent) + 4)},}}//", self.lines[follow_on]):
                behind += " " + self.lines[follow_on].strip()[2:].strip()
                del self.lines[follow_on]
            self.lines[last] = f"{code}  //{behind}"
        for line in range(at, last + 1):
            self.code_line(self.lines[line], self.lines[line].strip())
        return last + 1

    def words_of_class(self, name):
        """Of a class without a comment: if it holds the settings of another, that; else the header's own, of its first such class."""
        settled = re.sub("(Config|Options)$", "", name)
        if settled != name:
            return [f"The settings of {settled}."] if re.search(rf"\b(class|struct) {settled}\b[^;]*\{{", "\n".join(self.lines)) else []
        return words(self.top) if name == self.main_class else []

    def largest_class(self):
        """The class whose words are the header's: the longest of those that have none of their own."""
        sizes, begun = {}, None
        for before, line in zip(["", *self.lines], self.lines):
            found = re.match(r"(?:class|struct) (\w+)(?!\w).*\{$", line)
            if found and not before.startswith("//") and not re.search("(Config|Options)$", found[1]):
                begun = found[1]
            if begun:
                sizes[begun] = sizes.get(begun, 0) + 1
            if line == "};":
                begun = None
        return max(sizes, key=sizes.get, default="")

    def skip_statement(self, at, run):
        """Overloads for temporaries and what is deleted: they would hide the others."""
        if run:
            self.run = run
        scopes = len(self.scopes)
        begin = at
        while at < len(self.lines):
            self.follow(self.lines[at])
            at += 1
            if len(self.scopes) == scopes and not self.statement.strip():
                break
        if run:  # its words are those of the overload that follows
            next_name = name_of(" ".join(self.statement_lines(at))) if at < len(self.lines) and self.lines[at].strip() else ""
            if next_name == run[0]:
                indent = re.match(" *", self.lines[begin])[0]
                return self.declaration(indent, at, run[1])
        return at
