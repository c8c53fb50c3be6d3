import { defineConfig } from "vitest/config"

const long = process.env["BRAID_TEST_LONG"] === "true"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: [...(long ? [] : ["test/long/**"]), "**/node_modules/**"],
    pool: "forks",
    testTimeout: 60_000,
    hookTimeout: 120_000,
    coverage: { provider: "v8", include: ["src/**/*.ts"], reporter: ["text", "lcov"] }
  }
})
