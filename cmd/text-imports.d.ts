/** Files that the binary carries as text: `import stub from "…" with { type: "text" }`. */
declare module "*.bash" {
  const text: string;
  export default text;
}
declare module "*/_dotbot" {
  const text: string;
  export default text;
}
declare module "*.fish" {
  const text: string;
  export default text;
}
declare module "*.ps1" {
  const text: string;
  export default text;
}
declare module "*.sh" {
  const text: string;
  export default text;
}
