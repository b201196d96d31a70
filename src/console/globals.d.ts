declare module '*.css';
declare module '*.module.css' {
  const classes: Record<string, string>;
  export default classes;
}
/** Version of the package, set by the build. */
declare const GATEHOUSE_VERSION: string;
