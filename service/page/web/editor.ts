// The editor of sources, which pages load when they need it.
import { defaultKeymap, history, historyKeymap, indentWithTab } from "@codemirror/commands";
import { bracketMatching, HighlightStyle, indentUnit, StreamLanguage, syntaxHighlighting, type StreamParser } from "@codemirror/language";
import { c, cpp, csharp, java, kotlin, scala } from "@codemirror/legacy-modes/mode/clike";
import { d } from "@codemirror/legacy-modes/mode/d";
import { fortran } from "@codemirror/legacy-modes/mode/fortran";
import { go } from "@codemirror/legacy-modes/mode/go";
import { haskell } from "@codemirror/legacy-modes/mode/haskell";
import { javascript, typescript } from "@codemirror/legacy-modes/mode/javascript";
import { fSharp, oCaml } from "@codemirror/legacy-modes/mode/mllike";
import { lua } from "@codemirror/legacy-modes/mode/lua";
import { pascal } from "@codemirror/legacy-modes/mode/pascal";
import { perl } from "@codemirror/legacy-modes/mode/perl";
import { powerShell } from "@codemirror/legacy-modes/mode/powershell";
import { python } from "@codemirror/legacy-modes/mode/python";
import { r } from "@codemirror/legacy-modes/mode/r";
import { ruby } from "@codemirror/legacy-modes/mode/ruby";
import { rust } from "@codemirror/legacy-modes/mode/rust";
import { shell } from "@codemirror/legacy-modes/mode/shell";
import { swift } from "@codemirror/legacy-modes/mode/swift";
import { vb } from "@codemirror/legacy-modes/mode/vb";
import { Compartment, EditorState, StateEffect, StateField } from "@codemirror/state";
import { Decoration, type DecorationSet, drawSelection, EditorView, highlightActiveLine, highlightActiveLineGutter, keymap, lineNumbers } from "@codemirror/view";
import { tags } from "@lezer/highlight";
import { nonce } from "./nonce";

const modes: Record<string, StreamParser<unknown>> = {
  c, cpp, "c++": cpp, csharp, mono: csharp, d, fortran, fsharp: fSharp, go, haskell, java, javascript, kotlin, lua, ocaml: oCaml, pascal, perl, powershell: powerShell,
  pypy: python, python, "python-full": python, r, ruby, rust, scala, bash: shell, shell, swift, typescript, visualbasic: vb, vb,
} as Record<string, StreamParser<unknown>>;

const colors = HighlightStyle.define([
  { tag: [tags.keyword, tags.typeName], class: "tk-k" }, { tag: tags.string, class: "tk-s" }, { tag: tags.number, class: "tk-n" },
  { tag: tags.comment, class: "tk-c" }, { tag: [tags.function(tags.variableName), tags.definition(tags.variableName)], class: "tk-f" },
]);

const mark = StateEffect.define<number | null>();
const marked = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(now, change) {
    now = change.docChanged ? Decoration.none : now;
    for (const e of change.effects) {
      if (!e.is(mark)) continue;
      const line = e.value;
      now = line && line <= change.state.doc.lines ? Decoration.set([Decoration.line({ class: "cm-mark" }).range(change.state.doc.line(line).from)]) : Decoration.none;
    }
    return now;
  },
  provide: (f) => EditorView.decorations.from(f),
});

export type Editor = { text: () => string; set: (text: string) => void; language: (name: string) => void; mark: (line: number | null) => void; focus: () => void; close: () => void };

export function open(parent: HTMLElement, text: string, language: string, changed: () => void): Editor {
  const mode = new Compartment();
  const of = (name: string) => (modes[name] ? StreamLanguage.define(modes[name]) : []);
  const view = new EditorView({
    parent,
    state: EditorState.create({
      doc: text,
      extensions: [
        EditorView.cspNonce.of(nonce), lineNumbers(), highlightActiveLineGutter(), highlightActiveLine(), drawSelection(), history(), bracketMatching(), indentUnit.of("    "),
        syntaxHighlighting(colors), marked, mode.of(of(language)), EditorView.contentAttributes.of({ "aria-label": "Source" }),
        // Escape and then Tab leaves the editor by keyboard, as its documentation says.
        keymap.of([...defaultKeymap.filter((k) => k.key !== "Mod-Enter"), ...historyKeymap, indentWithTab]),
        EditorView.updateListener.of((u) => { if (u.docChanged) changed(); }),
      ],
    }),
  });
  return {
    text: () => view.state.doc.toString(),
    set: (t) => view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: t } }),
    language: (name) => view.dispatch({ effects: mode.reconfigure(of(name)) }),
    mark: (line) => {
      view.dispatch({ effects: [mark.of(line), ...(line && line <= view.state.doc.lines ? [EditorView.scrollIntoView(view.state.doc.line(line).from, { y: "center" })] : [])] });
    },
    focus: () => view.focus(),
    close: () => view.destroy(),
  };
}
