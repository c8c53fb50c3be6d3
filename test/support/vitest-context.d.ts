declare module "vitest" {
  interface ProvidedContext {
    readonly propertySeed: number
  }
}
export {}
