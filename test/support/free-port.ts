import { freePorts } from "./free-ports.ts"

/** One of {@link freePorts}. */
export const freePort = async (): Promise<number> => {
  const [port = 0] = await freePorts(1)
  return port
}
