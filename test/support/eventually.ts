import { until } from "./until.ts"

/**
 * Tries again until it works, see {@link until}: a listener or a subscription may take a moment. Otherwise the last
 * failure is the cause.
 */
export const eventually = async <A>(what: string, attempt: () => A | Promise<A>): Promise<A> => {
  let failure: unknown
  try {
    const look = async (): Promise<{ readonly value: A } | undefined> => {
      try {
        return { value: await attempt() }
      } catch (error) {
        failure = error
        return undefined
      }
    }
    const { value } = await until(what, look)
    return value
  } catch (error) {
    throw new Error(error instanceof Error ? error.message : String(error), { cause: failure })
  }
}
