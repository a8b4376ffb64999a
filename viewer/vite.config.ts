/** Builds the self-contained page that `backwater view` serves and `--export` fills with a run. */

import { defineConfig } from "vite";
import { viteSingleFile } from "vite-plugin-singlefile";

export default defineConfig({
  base: "./",
  plugins: [viteSingleFile({ removeViteModuleLoader: true })],
  build: {
    target: "es2022",
    outDir: "dist",
    emptyOutDir: true,
    reportCompressedSize: false,
  },
});
