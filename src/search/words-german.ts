import type { Language } from './lexicon.ts';

/** German words for the things and the work of apps. A word that ends with `*` stands for all words that begin so. */
export const GERMAN: Language = {
  things: `
customer: kunde*, kundin*, kaufer*, besteller*, auftraggeber*, klient*, mandant*
supplier: lieferant*, zulieferer*, verkaufer*, handler*
contact: kontakt*, ansprechpartner*, person*, leute, adressbuch*
company: firma, firmen*, unternehmen*, betrieb*, organisation*, konzern*
user: benutzer*, nutzer*, mitarbeiter*, kolleg*, mitglied*, team*
order: bestell*, auftrag*, auftrage*, kauf, kaufe, kaufen, gekauft, verkauf*, order*
item: produkt*, artikel*, ware, waren, sortiment*, katalog*
variant: variante*, grosse*, ausfuhrung*
stock: lager*, bestand*, vorrat*, vorrate*, inventar*, warenbestand*, wie viele, ubrig, vorratig
price: preis*, kosten, tarif*
shop: shop*, laden, geschaft, filial*
location: standort*, ort, orte, adresse*, anschrift*, filiale*
shipment: sendung*, versand*, verschick*, lieferung*, liefer*, paket*, packchen*, zustell*, sendungsnummer*, verschickt
invoice: rechnung*, faktur*
bill: eingangsrechnung*, lieferantenrechnung*, ausgabe*, spesen*
payment: zahlung*, bezahl*, gezahlt*, abbuchung*, uberweisung*, zahlungseing*, buchung*
refund: erstatt*, ruckerstatt*, ruckzahlung*, geld zuruck, zuruckzahl*, zuruckerstatt*, geld … zuruck, gutschrift*, zuruck geld
subscription: abo, abos, abonnement*, abonnent*, mitgliedschaft*
estimate: angebot*, kostenvoranschlag*, offerte*
balance: kontostand*, saldo*, guthaben*, wie viel geld
report: bericht*, auswertung*, report*, ubersicht*, statistik*, umsatz*
profit: gewinn*, verlust*, guv, ertrag*, umsatz*, verdien*, einnahmen, wie lauft, wie laufen, geschafte
balance sheet: bilanz*
overdue: uberfallig*, offen*, unbezahlt*, schuld*, ausstehend*, fallig*, mahn*
tax: steuer*, mehrwertsteuer*, mwst, umsatzsteuer*
bank: bank*, bankkonto*, kontobewegung*
deal: geschaft, deal*, verkaufschance*, abschluss*, abschlusse*, opportunit*
ticket: ticket*, anfrage*, supportfall*, beschwerde*, reklamation*, hilfe, fall, falle
lead: interessent*, lead*
pipeline: pipeline*, phase, phasen, stufe*
task: aufgabe*, todo*, erinnerung*, wiedervorlage*, steht … an, steht heute, heute los, heute vor, zu tun, mein tag
note: notiz*, vermerk*, anmerkung*
comment: kommentar*, kommentier*, anmerkung*, bemerkung*
message: nachricht*, mitteilung*, post, geschrieben, schreib*, sag, sage, sagen, bescheid, benachrichtig*, bescheid, melde, melden, informier*, frag, frage, fragen, erinner*, mir geschrieben
mail: mail*, email*, e mail*, post, posteingang*, brief*, postfach*
thread: unterhaltung*, verlauf, konversation*, diskussion*
channel: kanal*, kanale*, raum, gruppe*
attachment: anhang*, anhange*, angehangt*, beilage*
label: etikett*, label*, schlagwort*, kategorie*
category: kategorie*, warengruppe*
draft: entwurf*, entwurfe*
trash: papierkorb*
event: termin*, ereignis*, veranstaltung*, verabredung*, besprechung*, sitzung*, steht … an, steht heute, heute los, heute vor, zu tun, mein tag
meeting: besprechung*, meeting*, sitzung*, konferenz*, videokonferenz*, treffen, videoanruf*
webinar: webinar*
participant: teilnehm*, teilgenommen, gaste*, gast, anwesend*, dabei
registrant: anmeldung*, angemeldet*, registrier*
recording: aufzeichnung*, aufnahme*, mitschnitt*
invitation: einladung*, einlad*
calendar: kalender*
free: frei, freie*, verfugbar*, belegt, beschaftigt, zeit haben
absence: abwesen*, urlaub*, automatische antwort*, abwesenheitsnotiz*, ausser haus
file: datei*, dokument*, tabelle*, prasentation*, unterlage*, vertrag*, vertrage*, dateien
folder: ordner*, verzeichnis*
storage: speicher*, speicherplatz*
permission: recht, rechte, berechtig*, zugriff*, freigab*
link: link*, verweis*
version: version*, fassung*, stand
page: seite*, wiki*
table: tabelle*, datenbank*
repository: repo*, projekt*
issue: fehler*, bug*, problem*, vorgang*, issue*
pull request: zusammenfuhrung*
branch: zweig*, branch*
commit: commit*
release: veroffentlichung*, ausgabe
build: build*, kaputt, fehlgeschlagen*
field: feld*, spalte*, eigenschaft*
coupon: gutschein*, rabatt*
review: gutachten*, prufer*
notification: benachrichtigung*
campaign: kampagne*
template: vorlage*
best seller: bestseller*, am besten, meistverkauft*
`,
  work: `
new: neu, neue, neuen, neues, neuer, weitere*
read: zeig*, anzeig*, lies, lesen, gelesen, sieh, sehen, ansehen, schau*, nachschau*, was, welche*, wer, wem, wo, wann, wie, warum, wieso, gib mir, abfrag*, abruf*, pruf*, nachseh*, hol, hole, holen, nimm, nehme, nehmen, besorg*, schnapp*, ruf … auf, rufe … auf, aufruf*, zieh … heran, brauch*, steht … an, gibt es, wessen, mir geschrieben
list: list*, auflist*, alle, aufzahl*, letzte*, neueste*, neuste*, jungste*, alteste*, zeig*, anzeig*, ubersicht*
search: such*, find*, raussuch*, heraussuch*, nachschlag*, ermittl*
create: erstell*, anleg*, leg … an, lege … an, angelegt, erfass*, erzeug*, hinzufug*, hinterlass*, fug … hinzu, fuge … hinzu, eintrag*, trag … ein, trage … ein, mach, mache, machen, aufmach*, offne*, eroffn*, schreib*, verfass*, plan*, einricht*, richte … ein, registrier*, ausstell*, stell … aus, stelle … aus, einbuch*
update: ander*, aktualisier*, bearbeit*, anpass*, pass … an, passe … an, setz*, korrigier*, umbenenn*, benenn*, benenne … um, verschieb*, verleg*, zuweis*, weise … zu, schliess*, markier*, erhoh*, senk*, erganz*, auf … setzen, einschalt*, ausschalt*, schalte … ein, schalte … aus, aktivier*, deaktivier*, abhak*, erledig*
delete: losch*, entfern*, wegwerf*, wirf … weg, tilg*, vernicht*
cancel: stornier*, kundig*, absag*, sag … ab, sage … ab, abbrech*, beend*, widerruf*, fallt … aus, ausfall*, annullier*, storno
send: schick*, send*, versend*, verschick*, abschick*, ubermittl*, mail*, benachrichtig*, bescheid, sag, sage, sagen, melde, melden, informier*, schreib*, frag, frage, fragen, erinner*, teil … mit, teile … mit, mitteil*, poste*
forward: weiterleit*, leite … weiter, leit … weiter, weitergeb*
reply: antwort*, beantwort*, erwider*, zuruckschreib*, schreib … zuruck
restore: wiederherstell*, stell … wieder her, stelle … wieder her, ruckgangig*, zuruckhol*, hol … zuruck
download: herunterlad*, runterlad*, lade … herunter, lade … runter, lad … herunter, exportier*, download*
upload: hochlad*, lade … hoch, lad … hoch, ablege*, importier*, upload*
share: teil, teile, teilen, freigeb*, gib … frei, freigegeben, zugriff … geben
revoke: nicht mehr, entzieh*, sperr*, freigabe … aufheben, kein zugriff
copy: kopier*, dupliziert*, kopie*
run: start*, ausfuhr*, fuhr … aus, fuhre … aus, auslos*
retry: erneut*, nochmal*, wiederhol*, noch einmal
move: verschieb*, beweg*, umzieh*
archive: archivier*
merge: zusammenfuhr*, merg*, gemergt
schedule: plan*, einplan*, ansetz*, vereinbar*, spater, morgen fruh, terminier*
invite: einlad*, lade … ein, lad … ein
approve: genehmig*, freigeb*, zustimm*, billig*
refund: erstatt*, ruckerstatt*, zuruckzahl*, zuruckerstatt*, geld … zuruck, geld zuruck
comment: kommentier*
`,
  empty:
    'dir dich der die das den dem des ein eine einen einem einer eines und oder in im ins an am auf aus bei beim mit von vom fur zu zum zur um ab uber ' +
    'unter nach vor ist sind war waren hat haben wird werden wurde wurden soll sollen kann konnen muss bitte mir mich mein meine meinen meiner unser unsere ' +
    'unserer unseren uns ich du er sie es wir ihr ihm ihn ihnen da dann dass ob wenn als auch noch schon nur mal doch ja jetzt heute gestern morgen ' +
    'diese dieser dieses diesen dafur damit danach irgendwas etwas man sich frau herr montag dienstag mittwoch donnerstag freitag uhr woche monat jahr ungelesen ungelesene ungelesenen',
  not: 'nicht kein keine keinen keiner nie niemals ohne niemand',
  and: 'und sowie',
  further: 'dann danach anschliessend',
  but: 'sondern nur stattdessen aber',
  content: 'dass ob wegen uber weil',
  ask: 'wer, wem, wen, wessen, welche, welcher, welches, welchen, was, wann, wo, warum, wieso, weshalb, wie viele, wie viel, wieviele, wie oft, hat, haben, habe, ist, sind, war, waren, wurde, wurden, gibt',
  can: 'kann kannst konnen konnte konntest konnten konnt soll sollte darf wurdest',
  wish: 'soll sollen sollte muss mussen bitte will wollen mochte lass lasse brauch brauche brauchen',
  state: /ge[a-z]+t(?:e[nmrs]?)?$|iert(?:e[nmrs])?$|^(?:ver|be|ent|er|zer|uber)[a-z]+t(?:e[nmrs])?$/,
  before: 'der die das den dem ein eine einen mein meine meinen unser unsere unseren alle',
};
