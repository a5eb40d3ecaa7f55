//! How the frame looks: the colours and letters of the page around it.

/// One sheet for every form. Colours are those of `web/style.css`.
pub(super) const STYLE: &str = r"
:root{color-scheme:light dark;--ink:light-dark(#1d2327,#e3e7ea);--soft:light-dark(#5b656d,#9aa5ad);--line:light-dark(#dfe3e6,#2d353b);--ground:light-dark(#fff,#15191c);--tint:light-dark(#f4f6f7,#1c2226);--accent:light-dark(#0b6b5d,#54c6b1);--string:light-dark(#0f6a3d,#7fd1a0);--number:light-dark(#9a3412,#f0a57a);--key:light-dark(#1d4f91,#8fbcf2);--mark:light-dark(#fbe7a1,#5d4c12)}
:root[data-theme=light]{color-scheme:light}
:root[data-theme=dark]{color-scheme:dark}
*{box-sizing:border-box}
html{background:var(--ground);color:var(--ink);font:15px/1.6 system-ui,'Segoe UI',Roboto,'Noto Sans',sans-serif}
body{margin:0}
main{padding:20px 24px}
pre,code,.tree{font-family:ui-monospace,'Cascadia Mono','JetBrains Mono',Menlo,Consolas,'DejaVu Sans Mono',monospace;font-size:13px;line-height:1.55}
pre{margin:0;white-space:pre-wrap;overflow-wrap:anywhere}
.note{color:var(--soft)}
.code{display:grid;grid-template-columns:auto 1fr;gap:0 16px}
.code .numbers{color:var(--soft);text-align:right;user-select:none;white-space:pre;opacity:.8}
.code .lines{white-space:pre;overflow-x:auto;tab-size:4}
.numbers b{position:relative;color:var(--ink)}
.numbers b::after{content:'';position:absolute;left:-6px;top:0;width:100vw;height:1.5em;background:var(--mark);opacity:.45;pointer-events:none}
.code .lines{position:relative}
.k{color:var(--key)}.s{color:var(--string)}.n{color:var(--number)}.c{color:var(--soft);font-style:italic}
.hex{white-space:pre;overflow-x:auto}
figure{margin:0;display:grid;place-items:center;min-height:60vh}
figure img{max-width:100%;max-height:85vh;background:repeating-conic-gradient(var(--tint) 0 25%,var(--ground) 0 50%) 0 0/20px 20px;border:1px solid var(--line);border-radius:4px}
.prose{max-width:46rem;margin:0 auto;overflow-wrap:anywhere}
.prose h1{font-size:1.75rem;line-height:1.2;margin:.4em 0 .6em;letter-spacing:-.01em}
.prose h2{font-size:1.3rem;line-height:1.3;margin:1.8em 0 .5em;padding-bottom:.25em;border-bottom:1px solid var(--line)}
.prose h3{font-size:1.08rem;margin:1.5em 0 .4em}
.prose h4,.prose h5,.prose h6{font-size:1rem;margin:1.3em 0 .3em}
.prose p{margin:.7em 0}
.prose ul,.prose ol{padding-left:1.5em;margin:.6em 0}
.prose li{margin:.2em 0}
.prose li p{margin:.2em 0}
.prose pre{background:var(--tint);border:1px solid var(--line);border-radius:6px;padding:12px 14px;margin:1em 0;white-space:pre;overflow-x:auto}
.prose :not(pre)>code{background:var(--tint);border:1px solid var(--line);border-radius:4px;padding:.1em .35em;font-size:.87em}
.prose blockquote{margin:1em 0;padding:.1em 1.1em;border-left:3px solid var(--accent);color:var(--soft)}
.prose hr{border:0;border-top:1px solid var(--line);margin:2em 0}
.prose .link{color:var(--accent);text-decoration:underline;text-underline-offset:2px;cursor:help}
.prose span.link{color:inherit;text-decoration:underline dotted var(--soft)}
.prose a.link{cursor:pointer}
.prose .shown{display:inline-block;max-width:100%}
.prose .shown img,.notebook img{max-width:100%;border:1px solid var(--line);border-radius:4px}
.prose .shown>span{display:block;color:var(--soft);font-size:12.5px}
.notebook{max-width:56rem;margin:0 auto;display:grid;gap:10px}
.notebook>*{min-width:0}
.notebook .prose{max-width:none;margin:0}
.cell{background:var(--tint);border:1px solid var(--line);border-radius:6px;padding:10px 14px;overflow-x:auto}
.answer{border-left:3px solid var(--line);padding:2px 14px;color:var(--soft);max-height:28em;overflow:auto}
audio{width:min(520px,100%)}
video{max-width:100%;max-height:80vh}
.prose .picture{color:var(--soft);border:1px dashed var(--line);border-radius:4px;padding:.1em .5em;cursor:help}
.prose .front{color:var(--soft);font-size:12px}
table{border-collapse:collapse;font-size:14px}
.prose table{margin:1em 0;display:block;overflow-x:auto}
th,td{border:1px solid var(--line);padding:5px 10px;text-align:left;vertical-align:top;white-space:pre-wrap}
th{background:var(--tint);font-weight:600}
.sheet th{position:sticky;top:0}
.sheet .number{text-align:right;font-variant-numeric:tabular-nums}
.sheet .nth{color:var(--soft);text-align:right;user-select:none}
.tree details>.in{padding-left:18px;border-left:1px solid var(--line);margin-left:5px}
.tree .leaf{padding-left:15px;overflow-wrap:anywhere;white-space:pre-wrap}
.tree summary{cursor:pointer;border-radius:4px;list-style:none}
.tree summary::before{content:'▸';display:inline-block;width:15px;color:var(--soft)}
.tree details[open]>summary::before{content:'▾'}
.tree summary:hover{background:var(--tint)}
.tree .k{color:var(--key)}.tree .s{color:var(--string)}.tree .n{color:var(--number)}.tree .b{color:var(--number)}
.tree .p{color:var(--soft)}.tree .c{color:var(--soft);font-size:11.5px;padding:0 5px}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px;border-radius:4px}
";
