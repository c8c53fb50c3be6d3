import { once } from "node:events"
import type { Server } from "node:net"

/** Lets a server listen on a port of its own, and says which. */
export const listenLocally = async (server: Server, host = "127.0.0.1"): Promise<number> => {
  server.listen(0, host)
  await once(server, "listening")
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("the server does not listen on a port")
  return address.port
}
