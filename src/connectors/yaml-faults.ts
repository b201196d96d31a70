import type { LineCounter, YAMLError } from 'yaml';
import type { FileFault } from './file-fault.ts';

/**
 * Returns the faults of a text that is not valid YAML. After a first fault the parser reports its consequences too, so only
 * the first fault is returned, and each repeated member.
 */
export function yamlFaults(errors: readonly YAMLError[], lines: LineCounter, file: string): FileFault[] {
  const repeated = errors.filter(({ code }) => code === 'DUPLICATE_KEY');
  const first = errors.find(({ code }) => code !== 'DUPLICATE_KEY');
  return [...(first ? [first] : []), ...repeated].map((error) => {
    const { line, col } = lines.linePos(error.pos[0]);
    return { file, line, path: '', rule: `column ${col}: ${ruleOf(error)}` };
  });
}

function ruleOf({ code, message }: YAMLError): string {
  switch (code) {
    case 'TAB_AS_INDENT':
      return 'is indented with a tab. Indent with spaces';
    case 'DUPLICATE_KEY':
      return 'repeats a member of the same mapping. Remove one of the two';
    case 'BAD_INDENT':
      return 'is indented otherwise than the members of its mapping. Begin all of them at the same column';
    case 'BLOCK_AS_IMPLICIT_KEY':
    case 'MULTILINE_IMPLICIT_KEY':
      return 'has ": " where no member can begin. Quote the text that holds it, or indent the line as its neighbours';
    case 'BLOCK_IN_FLOW':
      return 'has ": " in a text inside of { … } or [ … ]. Quote the text';
    case 'MISSING_CHAR':
      return `is not closed: ${message}. Close each quote and bracket`;
    default:
      // The parser recurses, and reports the end of its stack as a fault of the text.
      if (message.includes('call stack')) return 'nests too many levels deep';
      return `is not valid YAML: ${message}`;
  }
}
