import { inject } from "vitest"

const seed = inject("propertySeed")
// Without a seed nothing is to be set, and files without properties need not load fast-check.
if (seed !== null) (await import("fast-check")).configureGlobal({ seed })
