import type { Language } from './lexicon.ts';

/** French words for the things and the work of apps. A word that ends with `*` stands for all words that begin so. */
export const FRENCH: Language = {
  things: `
customer: client*, acheteur*, acheteuse*, clientele*
supplier: fournisseur*, vendeur*, prestataire*
contact: contact, contacts, personne*, gens, carnet d adresses, interlocuteur*
company: entreprise*, societe*, compagnie*, organisation*
user: utilisateur*, membre*, employe*, collegue*, equipe*
order: commande*, achat*, vente*
item: produit*, article*, marchandise*, catalogue*
variant: variante*, taille*, declinaison*
stock: stock*, inventaire*, quantite*, reste, restent, rupture
price: prix, tarif*, cout*
shop: boutique*, magasin*
location: lieu*, adresse*, emplacement*
shipment: livraison*, colis, expedition*, expedi*, envoi, envois, livre*, suivi
invoice: facture*, facturation*
bill: depense*, note de frais, facture fournisseur
payment: paiement*, payer*, paye, payee, payes, payees, reglement*, encaiss*, prelevement*, transaction*
refund: rembours*, rendre … argent, avoir
subscription: abonnement*, abonne*
estimate: devis, proposition*, offre*
balance: solde*, argent, avoir en caisse
report: rapport*, releve*, compte rendu, statistique*
profit: benefice*, perte*, gagne*, resultat*, chiffre d affaires, revenu*, compte de resultat, affaires, recette*
balance sheet: bilan*
overdue: impaye*, en retard, doit, doivent, dus, dues, creance*, echu*, retard, relance*
tax: taxe*, impot*, tva
bank: banque*, bancaire*
deal: affaire, opportunite*, vente*, transaction*
ticket: ticket*, demande d assistance, reclamation*, plainte*, assistance
lead: prospect*, piste*
pipeline: pipeline*, etape*
task: tache*, rappel*, a faire, de prevu, au programme, ma journee, a faire aujourd hui
note: note*, remarque*
comment: commentaire*, comment*, remarque*, avis, un mot
message: message*, ecrit, ecrire, ecris, dis, dire, previen*, mot, avert*, notifi*, inform*, fais savoir, faire savoir, annonc*, signal*, preven*, m a … ecrit, m ont … ecrit
mail: mail*, courriel*, email*, e mail*, boite de reception, lettre*
thread: conversation*, fil, discussion*
channel: canal*, canaux, salon*, groupe*
attachment: piece jointe, pieces jointes, piece*, jointe*
label: etiquette*, libelle*
category: categorie*, rayon*
draft: brouillon*
trash: corbeille*, poubelle*
event: evenement*, rendez vous, rdv, reunion*, de prevu, au programme, ma journee, a faire aujourd hui
meeting: reunion*, visioconference*, visio*, conference*
webinar: webinaire*
participant: participant*, particip*, invite, invites, present*, assist*
registrant: inscri*, inscription*
recording: enregistrement*
invitation: invitation*, invit*
calendar: agenda*, calendrier*
free: libre*, disponib*, occupe*
absence: absen*, conge*, vacances, reponse automatique
file: fichier*, document*, tableur*, feuille*, presentation*, contrat*
folder: dossier*, repertoire*
storage: stockage*, espace*
permission: droit*, acces, autorisation*, partage*
link: lien*
version: version*, revision*
page: page*, wiki*
table: tableau*, table*, base de donnees
repository: depot*, projet*
issue: bogue*, bug*, incident*, anomalie*, probleme*, ticket*
pull request: demande de tirage, demandes de tirage, demande de fusion, demandes de fusion, pull request*, merge request*
branch: branche*
commit: commit*
release: version*, publication*
build: build*, compilation*, test*, echoue*, casse*
field: champ*, colonne*, propriete*
coupon: coupon*, bon de reduction, code promo, remise*, reduction*
notification: notification*
campaign: campagne*
template: modele*
best seller: meilleures ventes, vend le mieux, vendent le mieux, se vend
`,
  work: `
new: nouveau*, nouvel*, autre
read: affich*, montre*, voir, vois, lis, lire, consult*, regard*, quel, quels, quelle, quelles, qui, qu, quoi, quand, comment, combien, pourquoi, donne moi, dis moi, est ce que, verifi*, qu est ce, recuper*, obten*, prends, prenez, prendre, ramene moi, va chercher, sors moi, m a … ecrit, m ont … ecrit
list: list*, tous, toutes, dernier*, derniere*, recent*, plus recent*, plus ancien*, affich*, montre*
search: cherch*, recherch*, trouv*, retrouv*
create: cree*, crei*, creer, creat*, ajout*, laisse*, ouvr*, fais, faire, redig*, enregistr*, met, mets, mettre, inscri*, etabli*, emet*, planif*, programm*, prepar*, depose*
update: modifi*, chang*, met … a jour, mets … a jour, mettre … a jour, mise a jour, corrig*, renomm*, deplac*, assign*, ferm*, marqu*, augment*, baiss*, actualis*, ajust*, activ*, desactiv*
delete: supprim*, efface*, enlev*, retir*, detrui*
cancel: annul*, resili*, arret*, decommand*
send: envoi*, envoy*, expedi*, previen*, preven*, avert*, notifi*, inform*, dis, dire, fais savoir, faire savoir, annonc*, publi*, ecris, ecrire, signal*, poste*, rappel*, demande a, demander a
forward: transfer*, fais suivre, faire suivre, transmet*
reply: repond*, repons*
restore: restaur*, recuper*, retabli*
download: telecharg*, export*
upload: televers*, import*, depose*, mets … en ligne, ajout*, televers*
share: partag*, donne … acces, donner … acces
revoke: ne … plus, revoqu*, retir* … acces, plus … acces
copy: copi*, dupli*
run: lanc*, execut*, demarr*, declench*
retry: relanc*, reessay*, a nouveau
move: deplac*, transfer*
archive: archiv*
merge: fusionn*
schedule: planif*, programm*, prevoi*, organis*, fixe*
invite: invit*
approve: approuv*, valid*, accept*
refund: rembours*
comment: comment*
`,
  empty:
    'le la les l un que une des du de d au aux a et ou en dans sur sous pour par avec sans chez est sont etait a ont avons as ai avez sera c ce cet cette ces ' +
    'ca cela mon ma mes ton ta tes son sa ses notre nos votre vos leur leurs je j tu il elle on nous vous ils elles me m te t se s y n lui moi toi ' +
    'qu si puis ensuite alors aussi encore seulement tout rien ici la hier aujourd hui aujourdhui demain matin soir semaine mois annee lundi mardi mercredi jeudi ' +
    'vendredi samedi dimanche etre ete deja bien plait merci veut veux voulons veulent doit dois devons fait nomme nommes nommees nommee quelqu quelquun lu lus lue lues',
  not: 'pas non sans aucun aucune jamais personne ne n',
  and: 'et',
  further: 'puis ensuite',
  but: 'mais seulement plutot',
  content: 'que qu concernant',
  ask: 'qui, quel, quelle, quels, quelles, quand, ou, pourquoi, combien, est ce, quoi',
  can: 'peux peut puis pouvez pourrais pourriez pouvons dois doit',
  wish: 'veux voulons veut doit doivent faut faire',
  state: /^[a-z]{4,}(?:ee|ees|es)$/,
  before: 'le la les l un une mon ma mes notre nos son sa ses tous toutes',
};
