/** Shapes of socket addresses, which several messages share (wire.md §2.3). */

import { bytes, enumeration, ip, newtype, path, struct, type TypeOf, u16, unitVariant } from "./shape.ts"

/** `SocketAddr`: IPv6 flow info and scope do not travel (wire.md §2.3). */
export const SocketAddr = struct({ ip, port: u16 })
export type SocketAddr = TypeOf<typeof SocketAddr>

/** An abstract name is without its leading NUL. */
const UnixAddr = enumeration("UnixAddr", {
  Pathname: newtype(path),
  Abstract: newtype(bytes),
  Unnamed: unitVariant
})
export type UnixAddr = TypeOf<typeof UnixAddr>

export const SocketAddress = enumeration("SocketAddress", {
  Ip: newtype(SocketAddr),
  Unix: newtype(UnixAddr)
})
export type SocketAddress = TypeOf<typeof SocketAddress>
