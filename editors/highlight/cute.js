// `.cute` for highlight.js, in the pages of the book: mdBook has coloured what it knows when this is loaded.
(function () {
  "use strict";
  const words = {
    keyword: "import const fn kernel record test bench where launch let var mut if else static for in while loop break continue return "
      + "roles pipeline step tunable",
    literal: "true false _",
    type: "bool i4 u4 i8 u8 i16 i32 u32 i64 u64 f4e2m1 f8e4m3 f8e5m2 f16 bf16 tf32 f32 f64 tensor",
    built_in: "grid block tiles raster warps queue pingpong multicast min_blocks persistent cluster pdl thread_idx block_idx block_dim grid_dim tile self target",
  };
  hljs.registerLanguage("cute", () => ({
    name: "cute",
    keywords: words,
    contains: [
      hljs.C_LINE_COMMENT_MODE,
      hljs.C_BLOCK_COMMENT_MODE,
      { className: "string", begin: '"', end: '"', contains: [hljs.BACKSLASH_ESCAPE] },
      { className: "title", begin: /[A-Za-z_]\w*(?=\()/, keywords: words, relevance: 0 },
      { className: "number", begin: /\b(0x[0-9a-fA-F_]+|0b[01_]+|\d[\d_]*(\.\d+)?(e[+-]?\d+)?)/, relevance: 0 },
    ],
  }));
  for (const code of document.querySelectorAll('code[class*="language-cute"]')) {
    code.className = "language-cute";
    hljs.highlightBlock(code);
  }
})();
