import type { Command } from 'commander';

/** Adds `backup`, `restore`, `export` and `import`. */
export function addBackup(program: Command, done: (code: number) => void): void {
  program
    .command('backup')
    .description('Write the whole store and its master key to one file, while the service runs.')
    .argument('<file>', 'file to write; it must not exist')
    .option('--passphrase-file <file>', 'encrypt with the passphrase in this file')
    .option('--recipient <age1…>', 'encrypt for this public key of age-keygen; may be repeated', collect)
    .option('--without-keys', 'leave out the master key')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', BACKUP_HELP)
    .action(async (file: string, options: BackupFlags, command: Command) => {
      const { passphraseFile, recipient, withoutKeys, json } = options;
      if (passphraseFile && recipient) command.error('error: give either --passphrase-file or --recipient');
      const { backup } = await import('./backup.ts');
      done(
        await backup(file, {
          passphraseFile,
          recipient,
          withKeys: withoutKeys !== true,
          json: json === true,
        }),
      );
    });

  program
    .command('restore')
    .description('Restore a backup into an empty home and an empty database, SQLite or PostgreSQL.')
    .argument('<file>', 'file that gatehouse backup wrote')
    .option('--passphrase-file <file>', 'decrypt with the passphrase in this file')
    .option('--identity-file <file>', 'decrypt with the private keys in this file of age-keygen')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', RESTORE_HELP)
    .action(async (file: string, options: RestoreFlags, command: Command) => {
      const { passphraseFile, identityFile, json } = options;
      if (passphraseFile && identityFile)
        command.error('error: give either --passphrase-file or --identity-file');
      const { restoreStore } = await import('./backup.ts');
      done(await restoreStore(file, { passphraseFile, identityFile, json: json === true }));
    });

  addExport(program, done);
}

function addExport(program: Command, done: (code: number) => void): void {
  program
    .command('export')
    .description('Write the whole store and its master key to a folder, as lines of JSON.')
    .argument('<folder>', 'folder to write to; it is created where it is missing')
    .option('--without-keys', 'leave out the master key')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', EXPORT_HELP)
    .action(async (folder: string, { withoutKeys, json }: BackupFlags) => {
      const { exportStore } = await import('./backup.ts');
      done(await exportStore(folder, { withKeys: withoutKeys !== true, json: json === true }));
    });

  program
    .command('import')
    .description('Read an exported folder into an empty home and an empty database.')
    .argument('<folder>', 'folder that gatehouse export wrote')
    .option('--json', 'print the result as JSON')
    .addHelpText('after', IMPORT_STORE_HELP)
    .action(async (folder: string, { json }: { json?: boolean }) => {
      const { importStore } = await import('./backup.ts');
      done(await importStore(folder, { json: json === true }));
    });
}

interface BackupFlags {
  passphraseFile?: string;
  recipient?: string[];
  withoutKeys?: boolean;
  json?: boolean;
}

interface RestoreFlags {
  passphraseFile?: string;
  identityFile?: string;
  json?: boolean;
}

function collect(value: string, earlier: string[] = []): string[] {
  return [...earlier, value];
}

const BACKUP_HELP = `
The file gets its name only after it is complete. An unencrypted file with the master key opens every connected account. An encrypted file is
of the format of the program age. Custom connectors in the folder GATEHOUSE_CONNECTORS are not part of the store.

Examples:
  $ gatehouse backup gatehouse.backup --passphrase-file /etc/gatehouse/passphrase
  $ gatehouse backup gatehouse.backup --recipient age1ql3z7hjy54pw3hyww5ayyfg7zqgvc7w3j2elw8zmrj2kg5sfn9aqmcac8p
  $ gatehouse backup gatehouse.backup --without-keys --json`;

const RESTORE_HELP = `
Restores everything or nothing. DATABASE_URL names the new database, so a backup of SQLite can go to PostgreSQL and back.

Examples:
  $ GATEHOUSE_HOME=/var/lib/gatehouse gatehouse restore gatehouse.backup --passphrase-file passphrase
  $ DATABASE_URL=postgres://gatehouse@db/gatehouse gatehouse restore gatehouse.backup --identity-file key.txt`;

const EXPORT_HELP = `
The folder is not encrypted. With the master key in it, it opens every connected account.

Examples:
  $ gatehouse export moved
  $ gatehouse export moved --without-keys`;

const IMPORT_STORE_HELP = `
Imports everything or nothing.

Examples:
  $ DATABASE_URL=postgres://gatehouse@db/gatehouse gatehouse import moved
  $ GATEHOUSE_HOME=/var/lib/gatehouse gatehouse import moved --json`;
