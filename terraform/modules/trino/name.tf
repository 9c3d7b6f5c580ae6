# The certificate's name, known inside the VPC. Who asks from outside needs a resolver that asks the VPC's.

resource "aws_route53_zone" "this" {
  #checkov:skip=CKV2_AWS_38:DNSSEC is for public zones; this one is private
  #checkov:skip=CKV2_AWS_39:queries of a private zone are in the VPC's own flow logs as far as they matter
  name    = var.host
  comment = "${var.name}: Trino"

  vpc {
    vpc_id = var.vpc_id
  }
}

resource "aws_route53_record" "this" {
  zone_id = aws_route53_zone.this.zone_id
  name    = var.host
  type    = "A"

  alias {
    name                   = aws_lb.this.dns_name
    zone_id                = aws_lb.this.zone_id
    evaluate_target_health = false
  }
}
