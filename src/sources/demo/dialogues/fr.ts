import { type Dialogues, script, twoDigits } from './script.ts';

export const fr: Dialogues = {
  language: 'fr',
  gap: ' ',
  greetings: ['Bonjour,', 'Bonjour à toute l’équipe,', 'Bonsoir,', 'Bonjour et merci d’avance.'],
  thanks: ['Parfait, merci beaucoup !', 'Merci, c’est très clair.', 'Super, merci pour votre rapidité.'],
  goodbyes: [
    'Avec plaisir, et bonne route !',
    'Je vous en prie, {name}. N’hésitez pas à revenir vers nous.',
    'C’est normal. Très bonne journée à vous.',
  ],
  cities: ['Grenoble', 'Nantes', 'Annecy', 'Lille', 'Namur', 'Québec'],
  form: ['Nom', 'E-mail', 'Votre demande'],
  date: (day, month) => `${twoDigits(day)}/${twoDigits(month)}`,
  amount: (whole, cents) => `${whole},${cents} €`,
  scripts: [
    script(
      'Delivery',
      'Colis {order} toujours pas livré',
      `v: ma commande {order} devait arriver le {date} et le suivi n’a pas bougé depuis.
      b: Je suis désolé pour ce retard. Le dernier passage enregistré est à {city}. Voulez-vous que je prévienne un collègue ?
      v: Oui, nous partons samedi en randonnée et le sac {pack} est dans ce colis.
      a: Bonjour {name}, {agent} à l’appareil. J’ai ouvert une enquête auprès du transporteur, référence {ticket}.
      v: Et s’il reste introuvable ?
      a: Je vous fais partir un second sac en express jeudi midi, sans aucun frais.`,
    ),
    script(
      'Refund',
      'Remboursement en attente',
      `v: j’ai renvoyé la veste {jacket} il y a quinze jours et je n’ai toujours pas reçu les {amount}.
      b: Un remboursement prend cinq jours ouvrés après réception. Quel est le numéro de commande ?
      v: {order}, signé chez vous le {date}.
      a: Merci {name}. Le retour est bien contrôlé, mais le remboursement n’avait pas été validé. Toutes mes excuses.
      a: Je viens de débloquer {amount}. Votre banque l’affichera sous trois jours.`,
    ),
    script(
      'Sizing',
      'Taille des {shoe}',
      `v: je chausse du {size} en ville. Quelle taille me conseillez-vous pour les {shoe} ?
      b: La plupart des clients prennent une demi-pointure de plus. Souhaitez-vous le guide des tailles ?
      v: Je l’ai lu, mais j’ai le pied large.
      a: Bonjour {name}, dans ce cas prenez une pointure entière au-dessus et desserrez le laçage du cou-de-pied.
      v: Et si cela ne convient pas ?
      a: Vous avez 60 jours pour les renvoyer, tant qu’elles n’ont été portées qu’à l’intérieur.`,
    ),
    script(
      'Warranty',
      'Arceau cassé sur {tent}',
      `v: un arceau de ma tente {tent} s’est fendu dès la deuxième nuit.
      b: Nos tentes sont garanties cinq ans. Pouvez-vous joindre une photo et le numéro de commande ?
      v: Commande {order}, photo en pièce jointe.
      a: Merci {name}, c’est un défaut de matière. Préférez-vous un segment ou le jeu complet ?
      v: Le jeu complet, si c’est possible.
      a: C’est noté, il part le {date}. Gardez l’ancien en secours.`,
    ),
    script(
      'Invoice',
      'Facture au nom de la société',
      `v: il me faudrait la facture de {order} au nom de notre association.
      b: Vous pouvez modifier le nom pendant 30 jours dans votre compte. La commande est-elle plus ancienne ?
      v: Oui, elle date du trimestre dernier.
      a: Pas de souci, {name}. Quel est l’intitulé exact ?
      v: Les Sentiers du Mercantour, l’adresse est dans le document joint.
      a: La facture corrigée de {amount} est dans votre boîte. La précédente est annulée.`,
    ),
    script(
      'Login',
      'Impossible de me connecter',
      `v: le site refuse mon mot de passe et l’e-mail de réinitialisation n’arrive jamais.
      b: Pourriez-vous regarder dans les indésirables ? L’expéditeur est noreply@larkspur.example.
      v: Rien non plus, j’ai essayé trois fois.
      a: Bonjour {name}, votre compte utilise une ancienne adresse, les messages partent là-bas.
      v: Ah, je n’ai plus accès à cette boîte.
      a: Je vous ai envoyé un lien de confirmation. Après un clic, la nouvelle adresse sera enregistrée.`,
    ),
    script(
      'Cancellation',
      'Annuler {order}',
      `v: je me suis trompée de couleur, peut-on annuler {order} avant l’envoi ?
      b: J’ai demandé à l’entrepôt de mettre {order} en attente, un instant.
      b: C’est bon, le colis n’était pas prêt. La commande est annulée et rien n’a été débité.
      v: Très bien, je recommande tout de suite.`,
    ),
  ],
};
